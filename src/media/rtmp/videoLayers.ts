import { ok, type Result } from '../../base/result.ts'
import { coded, type CodedSentence } from '../../core/notices.ts'
import type { VideoFormat } from '../codecs/codec.ts'
import { CODECS, type VideoCodec } from '../codecs/codecs.ts'
import { parameterSetsOf } from '../codecs/wholeFrame.ts'
import type { VideoTrack } from '../frame.ts'
import { MAX_LAYERS } from '../layers.ts'
import { type FlvPayload, type FlvProblem, unsupported } from './flvPayload.ts'

/** Without a frame of the main layer for this long, another one takes its place. */
const SILENT_MS = 3000

export type VideoConfiguration = Extract<FlvPayload, { kind: 'track'; lengthBytes: number | null }>

/** A video track of a publication. */
export interface VideoLayer {
  /** Of enhanced RTMP. */
  readonly trackId: number
  track: VideoTrack
  /** The latest configuration that was sent. Keyframes may have described it otherwise since. */
  record: Uint8Array
  /** Null: frames are no NAL units, and keyframes describe the video. */
  lengthBytes: number | null
  /** It is in the list of tracks: from the first frame of all on, or from its first keyframe if it comes later. */
  isListed: boolean
  /** The time of its latest frame. */
  latestMs: number
}

/**
 * The video tracks of a publication: layers of one picture, in one codec. The largest is the main one. When none of its frames
 * comes, another one is, until it is back.
 */
export class VideoLayers {
  readonly #layers = new Map<number, VideoLayer>()
  #main: VideoLayer | null = null

  get isEmpty(): boolean {
    return this.#layers.size === 0
  }

  get(trackId: number): VideoLayer | undefined {
    return this.#layers.get(trackId)
  }

  /**
   * Takes the configuration of a track. Says whether it changes the list of tracks; refused with a sentence for the person who
   * publishes. Ignores a repeated one: some publishers send it with every keyframe.
   */
  configure(trackId: number, { track, lengthBytes }: VideoConfiguration): Result<boolean, FlvProblem> {
    const before = this.#layers.get(trackId)
    const other = [...this.#layers.values()].find((layer) => layer !== before)
    if (other !== undefined && other.track.codec !== track.codec) return unsupported(mixed(trackId, track, other))
    if (before === undefined) {
      if (this.#layers.size >= MAX_LAYERS) return unsupported(coded('video_tracks_too_many', { most: MAX_LAYERS }))
      this.#layers.set(trackId, { trackId, track, record: track.config, lengthBytes, isListed: false, latestMs: 0 })
      return ok(false)
    }
    if (isRepeated(before, track, lengthBytes)) return ok(false)
    Object.assign(before, { track, record: track.config, lengthBytes })
    return ok(before.isListed)
  }

  /** A keyframe describes its track. Says whether that is news. */
  describe(layer: VideoLayer, format: VideoFormat): boolean {
    const { codec, width, height, config } = layer.track
    if (format.width === width && format.height === height && hasSets(codec, config, format.config)) return false
    layer.track = { ...layer.track, ...format }
    return true
  }

  /** A frame came. Says whether it changes the list of tracks: the first keyframe of all lists all that is configured. */
  came(layer: VideoLayer, key: boolean, timeMs: number): boolean {
    layer.latestMs = timeMs
    if (!key) return false
    if (this.#main === null) return this.#begin(timeMs)
    const isLate = !layer.isListed
    const outranks = layer !== this.#main && this.#outranks(layer, this.#main)
    layer.isListed = true
    if (outranks) this.#main = layer
    return isLate || outranks
  }

  #begin(timeMs: number): true {
    this.#main = this.#largest() ?? null
    for (const layer of this.#layers.values()) Object.assign(layer, { isListed: true, latestMs: timeMs })
    return true
  }

  /** What is sent, the main layer first. Layers have names as soon as there are several. */
  list(): VideoTrack[] {
    const main = this.#main
    if (main === null) return []
    const others = this.#listed.filter((layer) => layer !== main)
    return [main, ...others].map((layer) => ({ ...layer.track, ...this.nameOf(layer) }))
  }

  /** As its frames have it. */
  nameOf({ trackId }: VideoLayer): { readonly layer?: string } {
    return this.#listed.length > 1 ? { layer: String(trackId) } : {}
  }

  get #listed(): VideoLayer[] {
    return [...this.#layers.values()].filter(({ isListed }) => isListed)
  }

  #largest(): VideoLayer | undefined {
    return [...this.#layers.values()].toSorted((a, b) => areaOf(b) - areaOf(a) || a.trackId - b.trackId)[0]
  }

  #outranks(layer: VideoLayer, main: VideoLayer): boolean {
    return areaOf(layer) > areaOf(main) || layer.latestMs - main.latestMs > SILENT_MS
  }
}

const areaOf = ({ track: { width, height } }: VideoLayer): number => width * height

/** Whether a configuration says nothing new. */
function isRepeated({ track, record }: VideoLayer, { codec, config }: VideoTrack, lengthBytes: number | null): boolean {
  return track.codec === codec && (lengthBytes === null || Buffer.compare(record, config) === 0)
}

/** Whether a configuration is what a keyframe says, or has all of its parameter sets: encoders may repeat some of them only. */
function hasSets(codec: VideoCodec, config: Uint8Array, said: Uint8Array): boolean {
  if (Buffer.compare(config, said) === 0) return true
  const sets = parameterSetsOf(codec, Buffer.from(config))
  const others = parameterSetsOf(codec, Buffer.from(said))
  return others.length > 0 && others.every((set) => sets.some((one) => one.equals(set)))
}

function mixed(track: number, { codec }: VideoTrack, other: VideoLayer): CodedSentence {
  const [one, otherCodec] = [CODECS[codec].title, CODECS[other.track.codec].title]
  return coded('video_tracks_mixed', { track, codec: one, other: other.trackId, otherCodec })
}
