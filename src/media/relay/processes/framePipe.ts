import type { FrameSink } from '../../frame.ts'
import type { Media } from './messages.ts'

/** Frames of one session that wait for the other process: about ten seconds of audio and video. More are dropped. */
const MAX_WAITING = 800

/**
 * A sink that sends its frames to another process. If that cannot keep up, frames are dropped up to the next keyframe (without
 * video, until there is room again). `send` calls `sent` when a message has left.
 */
export function framePipe(sessionId: string, send: (message: Media, sent: () => void) => void): FrameSink {
  let waiting = 0
  let isSkipping = false
  let hasVideo = false
  const ignore = (): void => undefined
  return {
    tracks: (tracks) => {
      hasVideo = tracks.some(({ kind }) => kind === 'video')
      send({ kind: 'tracks', sessionId, tracks }, ignore)
    },
    frame: (frame) => {
      if (waiting >= MAX_WAITING) isSkipping = true
      else if (frame.key && (frame.kind === 'video' || !hasVideo)) isSkipping = false
      if (isSkipping) return
      waiting += 1
      send({ kind: 'frame', sessionId, frame }, () => {
        waiting -= 1
      })
    },
    end: () => send({ kind: 'end', sessionId }, ignore),
  }
}
