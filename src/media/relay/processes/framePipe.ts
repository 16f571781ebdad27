import type { FrameSink } from '../../frame.ts'
import type { Media } from './messages.ts'

/** Frames of one session that wait for the other process: about ten seconds of audio and video. More are dropped. */
const MAX_WAITING = 800

/**
 * A sink that sends its frames to another process, of all layers. If that cannot keep up, frames are dropped up to the next
 * keyframe of each layer, and audio up to that of the main one (without video, until there is room again). `send` calls `sent`
 * when a message has left.
 */
export function framePipe(sessionId: string, send: (message: Media, sent: () => void) => void): FrameSink {
  let waiting = 0
  let hasVideo = false
  /** Their names, the main one first; one without a name where there is no video. */
  let layers: readonly (string | undefined)[] = [undefined]
  let skipped = new Set<string | undefined>()
  const ignore = (): void => undefined
  return {
    takesLayers: true,
    tracks: (tracks) => {
      const videos = tracks.filter((track) => track.kind === 'video')
      hasVideo = videos.length > 0
      layers = hasVideo ? videos.map(({ layer }) => layer) : [undefined]
      if (skipped.size > 0) skipped = new Set(layers)
      send({ kind: 'tracks', sessionId, tracks }, ignore)
    },
    frame: (frame) => {
      const layer = frame.kind === 'video' ? frame.layer : layers[0]
      if (waiting >= MAX_WAITING) skipped = new Set(layers)
      else if (frame.key && (frame.kind === 'video' || !hasVideo)) skipped.delete(layer)
      if (skipped.has(layer)) return
      waiting += 1
      send({ kind: 'frame', sessionId, frame }, () => {
        waiting -= 1
      })
    },
    end: () => send({ kind: 'end', sessionId }, ignore),
  }
}
