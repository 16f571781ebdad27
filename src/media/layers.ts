import type { Frame, FrameSink, FrameSource, TrackInfo } from './frame.ts'

/** The most of one source. */
export const MAX_LAYERS = 8

/** Of the video only the main layer, which is the first of the list, without its name. */
export function withoutLayers(tracks: readonly TrackInfo[]): readonly TrackInfo[] {
  if (tracks.every((track) => track.kind === 'audio' || track.layer === undefined)) return tracks
  const main = tracks.find(({ kind }) => kind === 'video')
  return tracks.flatMap((track): TrackInfo[] => {
    if (track.kind === 'audio') return [track]
    const { layer: _, ...alone } = track
    return track === main ? [alone] : []
  })
}

/** The name of the main layer; undefined: there is none, or no video. */
export const mainLayerOf = (tracks: readonly TrackInfo[]): string | undefined =>
  tracks.find((track) => track.kind === 'video')?.layer

/** Whether a frame is audio, or of the main layer. */
export const isOfMain = ({ kind, layer }: Pick<Frame, 'kind' | 'layer'>, mainLayer: string | undefined): boolean =>
  kind === 'audio' || layer === mainLayer

/** A frame as sinks get it that take a single layer. */
export function withoutLayer(frame: Frame): Frame {
  if (frame.layer === undefined) return frame
  const { layer: _, ...alone } = frame
  return alone
}

/** Passes only the main layer on, to a sink that takes a single one. */
export class MainLayer implements FrameSink {
  readonly takesLayers = true
  readonly #sink: FrameSink
  #tracks: readonly TrackInfo[] = []
  #layer: string | undefined

  constructor(sink: FrameSink) {
    this.#sink = sink
  }

  tracks(all: readonly TrackInfo[]): void {
    this.#layer = mainLayerOf(all)
    const tracks = withoutLayers(all)
    if (areSameTracks(this.#tracks, tracks)) return
    this.#tracks = tracks
    this.#sink.tracks(tracks)
  }

  frame(frame: Frame): void {
    if (isOfMain(frame, this.#layer)) this.#sink.frame(withoutLayer(frame))
  }

  end(): void {
    this.#sink.end()
  }
}

/** The media of a source for sinks that take layers, too: of the video the main one alone. */
export const mainLayerAlone = (source: FrameSource): FrameSource => ({
  subscribe: (sink) =>
    source.subscribe({
      tracks: (tracks) => sink.tracks(tracks),
      frame: (frame) => sink.frame(frame),
      end: () => sink.end(),
    }),
})

/** Whether two lists say the same of what is sent. */
export const areSameTracks = (a: readonly TrackInfo[], b: readonly TrackInfo[]): boolean =>
  a.length === b.length && a.every((track, at) => isSame(track, b[at]))

function isSame(a: TrackInfo, b: TrackInfo | undefined): boolean {
  if (b === undefined || a.codec !== b.codec || Buffer.compare(a.config, b.config) !== 0) return false
  if (a.kind === 'video')
    return b.kind === 'video' && a.width === b.width && a.height === b.height && a.layer === b.layer
  return (
    b.kind === 'audio' && a.sampleRate === b.sampleRate && a.channels === b.channels && a.audioIndex === b.audioIndex
  )
}
