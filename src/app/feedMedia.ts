import { type EncodingRoom, NO_ROOM_TO_ENCODE } from '../media/convert/encodingRoom.ts'
import { type WebRtcMedia, webRtcMedia, type WebRtcMediaOptions } from '../media/convert/opus.ts'
import { hasOwnLayout } from '../media/codecs/aac.ts'
import type { FrameSink, FrameSource, TrackInfo } from '../media/frame.ts'
import { type ConversionFailed, PlainMedia } from '../media/hls/plainMedia.ts'

type Passes = (track: TrackInfo) => boolean

/** Not AAC with a layout of its own, which few targets take. */
function oneOf(...codecs: readonly TrackInfo['codec'][]): Passes {
  return (track) => codecs.includes(track.codec) && !hasOwnLayout(track)
}

/** What passes as it is: `plain` to each target, `enhanced` over enhanced RTMP, `wide` over SRT, `whole` over RTSP. */
export const PASSES = {
  plain: oneOf('h264', 'aac'),
  enhanced: oneOf('h264', 'hevc', 'av1', 'vp9', 'aac'),
  wide: oneOf('h264', 'hevc', 'aac', 'opus'),
  whole: (): boolean => true,
} as const

/** `webRtc`: H.264 without B-frames, and Opus. */
export type Fit = keyof typeof PASSES | 'webRtc'

export interface FeedMediaOptions extends WebRtcMediaOptions {
  readonly source: FrameSource
  readonly encodingRoom: EncodingRoom
  /** What is converted for viewers over WebRTC already. */
  readonly shared?: () => Pick<WebRtcMedia, 'media' | 'lacksRoom'> | undefined
}

/** The media of a feed: as it is, and as targets take it, which all targets with the same fit share. */
export class FeedMedia {
  readonly #options: FeedMediaOptions
  readonly #fits = new Map<keyof typeof PASSES, PlainMedia>()
  #webRtc: WebRtcMedia | null = null

  constructor(options: FeedMediaOptions) {
    this.#options = options
  }

  get source(): FrameSource {
    return this.#options.source
  }

  /** Returns the function that unsubscribes. */
  subscribe(fit: Fit, sink: FrameSink, failed: ConversionFailed): () => void {
    return fit === 'webRtc' ? this.#overWebRtc(sink, failed) : this.#as(fit).subscribe(sink, failed)
  }

  /** Calls `changed` when the media gets other codecs than it has now. Returns the function that ends the watch. */
  onOtherCodecs(changed: () => void): () => void {
    let codecs: string | null = null
    return this.source.subscribe({
      tracks(tracks) {
        const before = codecs
        codecs = tracks.map(({ codec }) => codec).join()
        if (before !== null && before !== codecs) changed()
      },
      frame: () => undefined,
      end: () => undefined,
    })
  }

  /** Call it about every second. */
  async checkProgress(): Promise<void> {
    await Promise.all([...this.#fits.values()].map((media) => media.checkProgress()))
  }

  #overWebRtc(sink: FrameSink, failed: ConversionFailed): () => void {
    const { source, shared } = this.#options
    const converted = shared?.() ?? (this.#webRtc ??= webRtcMedia(source, this.#options))
    return converted.media.subscribe({
      tracks: (tracks) => (converted.lacksRoom ? failed(NO_ROOM_TO_ENCODE) : sink.tracks(tracks)),
      frame: (frame) => sink.frame(frame),
      end: () => sink.end(),
    })
  }

  #as(fit: keyof typeof PASSES): PlainMedia {
    const media = this.#fits.get(fit) ?? new PlainMedia({ ...this.#options, passes: PASSES[fit] })
    this.#fits.set(fit, media)
    return media
  }
}
