import type { FrameSink, FrameSource, RestingSource, TrackInfo, VideoTrack } from '../frame.ts'
import { type EncodingRoom, EncodingSeat } from './encodingRoom.ts'
import { asH264, OPUS } from './form.ts'

type Listener = (tracks: readonly TrackInfo[]) => void

export interface ViewerH264Options {
  /** The same media as H.264 and Opus. Converts while it has subscribers. */
  readonly converted: Pick<RestingSource, 'subscribe'>
  readonly room: EncodingRoom
}

/**
 * H.264 for viewers who lack the codec of a broadcast. It has tracks while the broadcast has another codec and this machine has
 * room to encode it, so that viewers are refused where they would get nothing, and it encodes once for all while it is subscribed to.
 */
export class ViewerH264 implements RestingSource {
  readonly #converted: ViewerH264Options['converted']
  readonly #seat: EncodingSeat
  #tracks: readonly TrackInfo[] = []
  #subscribers = 0
  #listener: Listener | null = null
  /** Whether the listener has heard of tracks; null: it has to hear again. */
  #isOffered: boolean | null = null

  constructor({ converted, room }: ViewerH264Options) {
    this.#converted = converted
    this.#seat = new EncodingSeat(room)
  }

  /** True: viewers who lack the codec get nothing, because this machine has no room. */
  get lacksRoom(): boolean {
    return this.#video !== undefined && this.#isOffered === false
  }

  /** What the publisher sends; again when a size is known. */
  tracks(tracks: readonly TrackInfo[]): void {
    this.#tracks = tracks
    this.look()
  }

  /** Call it every second: the room of this machine changes. */
  look(): void {
    const video = this.#video
    const isOffered = video !== undefined && this.#seat.isFor(video)
    if (isOffered === this.#isOffered) return
    this.#isOffered = isOffered
    this.#listener?.(isOffered ? this.#tracks.map(converted) : [])
  }

  announce(listener: Listener): () => void {
    this.#listener = listener
    this.#isOffered = null
    this.look()
    return () => void (this.#listener = null)
  }

  subscribe(sink: FrameSink): () => void {
    const leave = this.#encode(sink) ?? noMedia(sink)
    return () => {
      leave()
      // What the subscriber heard came with the media.
      this.#isOffered = null
    }
  }

  /** The same for HLS: one process encodes for both. Without room, or for H.264, it is `plain`. */
  besides(plain: FrameSource): FrameSource {
    return {
      subscribe: (sink) => {
        // This broadcast ends before the one that replaces it begins, and HLS goes on with that.
        const leave = this.#encode({ ...passing(sink), end: () => undefined })
        if (leave === null) return plain.subscribe(sink)
        const unwatch = plain.subscribe({ tracks: () => undefined, frame: () => undefined, end: () => sink.end() })
        return () => {
          leave()
          unwatch()
        }
      },
    }
  }

  /** Null: there is nothing to encode, or no room. */
  #encode(sink: FrameSink): (() => void) | null {
    const video = this.#video
    const mayEncode = video !== undefined && (this.#subscribers > 0 || this.#seat.take(video))
    if (!mayEncode) return null
    this.#subscribers += 1
    const stop = this.#converted.subscribe(sink)
    let isIn = true
    return () => {
      if (!isIn) return
      isIn = false
      stop()
      this.#subscribers -= 1
      if (this.#subscribers === 0) this.#seat.leave()
    }
  }

  /** The video, unless it is H.264. */
  get #video(): VideoTrack | undefined {
    return this.#tracks.find((track): track is VideoTrack => track.kind === 'video' && track.codec !== 'h264')
  }
}

const passing = (sink: FrameSink): Pick<FrameSink, 'tracks' | 'frame'> => ({
  tracks: (tracks) => sink.tracks(tracks),
  frame: (frame) => sink.frame(frame),
})

/** Another broadcast took the room at the same moment. */
function noMedia(sink: FrameSink): () => void {
  sink.tracks([])
  return () => undefined
}

const converted = (track: TrackInfo): TrackInfo => (track.kind === 'video' ? asH264(track) : OPUS)
