/** What a browser allows without a click of its user. */
export type Begun = 'aloud' | 'silent' | 'blocked' | 'replaced'

/**
 * Plays the media of a video element, without audio if the browser allows no more. `blocked`: not even that; the user has
 * to click. `replaced`: other media came in between, whose own call decides.
 */
export async function playAsAllowed(video: HTMLVideoElement): Promise<Begun> {
  const first = await attempt(video)
  if (first !== 'refused') return first === 'ok' ? (video.muted ? 'silent' : 'aloud') : 'replaced'
  if (video.muted) return 'blocked'
  video.muted = true
  const second = await attempt(video)
  if (second === 'ok') return 'silent'
  video.muted = false
  return second === 'refused' ? 'blocked' : 'replaced'
}

async function attempt(video: HTMLVideoElement): Promise<'ok' | 'refused' | 'replaced'> {
  try {
    await video.play()
    return 'ok'
  } catch (error) {
    return error instanceof DOMException && error.name === 'NotAllowedError' ? 'refused' : 'replaced'
  }
}
