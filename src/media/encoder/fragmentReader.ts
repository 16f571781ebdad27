import { err, ok, type Result } from '../../base/result.ts'
import { viewOf } from '../codecs/boxes.ts'
import type { Frame, TrackInfo } from '../frame.ts'
import { type Mp4Samples, readFragment, readInit } from './fragments.ts'

export interface FragmentReaderOptions {
  /** Subtracted from the times, microseconds. */
  readonly offsetUs: number
  readonly track: (track: TrackInfo) => void
  readonly frame: (frame: Frame) => void
}

/** Far more than a keyframe of the largest rendition. */
const BOX_MAX = 16 * 1024 * 1024
const HEADER_BYTES = 8

/** Reads the frames of a fragmented MP4 with one track that arrives in pieces. Holds one box at most. */
export class FragmentReader {
  readonly #options: FragmentReaderOptions
  #chunks: Buffer[] = []
  #length = 0
  /** How many bytes the next box needs. */
  #needed = HEADER_BYTES
  #track: { readonly info: TrackInfo; readonly timescale: number } | null = null
  /** The samples of the latest `moof`, whose data come next. */
  #samples: Mp4Samples | null = null

  constructor(options: FragmentReaderOptions) {
    this.#options = options
  }

  /** The error says why this is not what the encoder writes; then the rest is of no use. */
  push(chunk: Buffer): Result<null, string> {
    this.#chunks.push(chunk)
    this.#length += chunk.length
    if (this.#length < this.#needed) return ok(null)
    const bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks)
    let at = 0
    for (; bytes.length - at >= HEADER_BYTES; at += this.#needed) {
      this.#needed = bytes.readUInt32BE(at)
      if (this.#needed < HEADER_BYTES || this.#needed > BOX_MAX) return err(`a box of ${this.#needed} bytes`)
      if (bytes.length - at < this.#needed) break
      const read = this.#take(bytes.subarray(at, at + this.#needed))
      if (!read.ok) return read
    }
    this.#keep(bytes.subarray(at))
    return ok(null)
  }

  #keep(rest: Buffer): void {
    this.#chunks = rest.length === 0 ? [] : [rest]
    this.#length = rest.length
    if (rest.length < HEADER_BYTES) this.#needed = HEADER_BYTES
  }

  #take(box: Buffer): Result<null, string> {
    try {
      return this.#read(box)
    } catch (error) {
      if (error instanceof RangeError) return err('a box that ends within a field')
      throw error
    }
  }

  #read(box: Buffer): Result<null, string> {
    const type = box.toString('latin1', 4, HEADER_BYTES)
    const payload = box.subarray(HEADER_BYTES)
    if (type === 'moov') return this.#begin(payload)
    if (type === 'moof') this.#samples = readFragment(viewOf(payload), box.length)
    if (type === 'mdat') this.#emit(payload)
    return ok(null)
  }

  #begin(moov: Buffer): Result<null, string> {
    this.#track = readInit(viewOf(moov))
    if (this.#track === null) return err('a track that is neither H.264 nor AAC')
    this.#options.track(this.#track.info)
    return ok(null)
  }

  #emit(data: Buffer): void {
    if (this.#samples === null || this.#track === null) return
    const { info, timescale } = this.#track
    const { offsetUs, frame } = this.#options
    const microseconds = (ticks: number): number => (ticks * 1_000_000) / timescale - offsetUs
    let { dataAt: at, dts } = this.#samples
    for (const { size, duration, key, composition } of this.#samples.samples) {
      frame({
        kind: info.kind,
        key: info.kind === 'audio' || key,
        timeUs: microseconds(dts + composition),
        decodeTimeUs: microseconds(dts),
        data: data.subarray(at, (at += size)),
      })
      dts += duration
    }
    this.#samples = null
  }
}
