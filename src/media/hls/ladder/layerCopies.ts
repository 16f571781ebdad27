import type { Frame, VideoTrack } from '../../frame.ts'
import type { RungTrack } from './rungTrack.ts'

/** The most frames that wait for the main layer. They are a moment ahead of it, or it waits for its converted audio. */
const WAITING_MAX = 1200
/** A layer without a frame for this long has stopped. */
const SILENT_US = 3_000_000
/** An encoded rendition may peak at this multiple of its limit. */
const PEAK = 1.35
/** A bitrate over a shorter time says little. */
const MEASURED_US = 1_000_000

interface Copy {
  /** Of the rendition. */
  readonly id: string
  readonly track: RungTrack
  /** The most bits of video per second. */
  readonly bitrate: number
  /** The decode time of the main layer when its latest frame came, or when the copy began; microseconds. */
  latestUs: number
  /** Since a keyframe of the main layer, whose decode time this is. */
  bytes: number
  sinceUs: number
}

/**
 * The renditions of one run of a source that its publisher sends as layers. A frame of a layer waits for that of the main layer
 * of the same time, so that the segment that it belongs to is known.
 */
export class LayerCopies {
  /** By the names of layers. */
  readonly #copies = new Map<string | undefined, Copy>()
  #waiting: Frame[] = []
  /** The decode time of the latest frame of the main layer, microseconds. */
  #mainUs = Number.NEGATIVE_INFINITY

  /** @param atUs the decode time of the main layer, microseconds */
  add(layer: VideoTrack, copy: Pick<Copy, 'id' | 'track' | 'bitrate'>, atUs: number): void {
    this.#copies.set(layer.layer, { ...copy, latestUs: atUs, bytes: 0, sinceUs: atUs })
    copy.track.tracks([layer])
  }

  /** What layers there are now. One with another configuration is broken. */
  tracks(layers: readonly VideoTrack[]): void {
    for (const layer of layers) this.#copies.get(layer.layer)?.track.tracks([layer])
  }

  /** Whether a layer is this rendition. */
  has(id: string): boolean {
    return this.#all.some((copy) => copy.id === id)
  }

  /** A frame of another layer than the main one. */
  layer(frame: Frame): void {
    const copy = this.#copies.get(frame.layer)
    if (copy === undefined) return
    copy.latestUs = this.#mainUs
    copy.bytes += frame.data.length
    if (frame.decodeTimeUs <= this.#mainUs) return this.#take(frame)
    this.#waiting.push(frame)
    if (this.#waiting.length > WAITING_MAX) copy.track.break()
  }

  /** A frame of the source, after its rendition got it. */
  source(frame: Frame): void {
    if (frame.kind === 'audio') {
      for (const { track } of this.#all) track.audio(frame)
      return
    }
    this.#mainUs = frame.decodeTimeUs
    for (const copy of this.#all)
      if (this.#mainUs - copy.latestUs > SILENT_US || (frame.key && this.#isTooMuch(copy))) copy.track.break()
    const isDue = ({ decodeTimeUs }: Frame): boolean => decodeTimeUs <= this.#mainUs
    const due = this.#waiting.filter(isDue)
    this.#waiting = this.#waiting.filter((one) => !isDue(one))
    for (const one of due) this.#take(one)
  }

  /** Nothing before this run is still being written. */
  activate(): void {
    for (const { track } of this.#all) track.activate()
  }

  /** The segments of the source have gone on. */
  drain(): void {
    for (const { track } of this.#all) track.drain()
  }

  /** The run is over. */
  end(): void {
    for (const frame of this.#waiting.splice(0)) this.#take(frame)
    for (const { track } of this.#all) track.finish()
    this.#copies.clear()
  }

  /** Nothing more is made of this rendition. */
  giveUp(id: string): void {
    for (const [layer, copy] of this.#copies) if (copy.id === id) this.#copies.delete(layer)
    if (this.#copies.size === 0) this.#waiting = []
  }

  get #all(): Copy[] {
    return [...this.#copies.values()]
  }

  /** Whether it has more bits than an encoded rendition would have. */
  #isTooMuch(copy: Copy): boolean {
    const us = this.#mainUs - copy.sinceUs
    if (us < MEASURED_US) return false
    const bitrate = (copy.bytes * 8_000_000) / us
    copy.bytes = 0
    copy.sinceUs = this.#mainUs
    return bitrate > PEAK * copy.bitrate
  }

  #take(frame: Frame): void {
    this.#copies.get(frame.layer)?.track.frame(frame)
  }
}
