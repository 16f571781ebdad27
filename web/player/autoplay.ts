/**
 * Plays the media of a video element, without audio if the browser allows no more before a click of its user. True: it allows not even
 * that. Where other media came in between, their own call decides.
 */
export async function isBlocked(video: HTMLVideoElement): Promise<boolean> {
  const first = await attempt(video)
  if (first !== 'refused' || video.muted) return first === 'refused'
  video.muted = true
  const second = await attempt(video)
  video.muted = second === 'ok'
  return second === 'refused'
}

async function attempt(video: HTMLVideoElement): Promise<'ok' | 'refused' | 'replaced'> {
  try {
    await video.play()
    return 'ok'
  } catch (error) {
    return error instanceof DOMException && error.name === 'NotAllowedError' ? 'refused' : 'replaced'
  }
}
