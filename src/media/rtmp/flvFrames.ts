import type { Frame, FrameSink, TrackInfo } from '../frame.ts'
import { parseAudio, parseVideo, withFourByteLengths } from './flv.ts'
import { FlvReader } from './flvTags.ts'
import { MESSAGE, type Message } from './messages.ts'

/** The time nearest to `aboutMs` that a timestamp may stand for: ffmpeg writes 31 bits of it, which wrap after 24.8 days. */
export function timeNear(timestamp: number, aboutMs: number): number {
  const baseMs = Math.round(aboutMs)
  return baseMs + (((timestamp - baseMs) << 1) >> 1)
}

/** Reads the tracks and frames in the FLV stream of a process. Reports the tracks when all that it expects are there. */
export class FlvFrames {
  readonly #reader = new FlvReader()
  readonly #expected: readonly TrackInfo['kind'][]
  readonly #out: Pick<FrameSink, 'tracks' | 'frame'>
  readonly #timeMs: (timestamp: number) => number
  #tracks: TrackInfo[] = []

  /** @param timeMs the time of the source for a timestamp; see `timeNear` */
  constructor(
    expected: readonly TrackInfo['kind'][],
    out: Pick<FrameSink, 'tracks' | 'frame'>,
    timeMs: (timestamp: number) => number,
  ) {
    this.#expected = expected
    this.#out = out
    this.#timeMs = timeMs
  }

  push(chunk: Buffer): void {
    for (const message of this.#reader.push(chunk)) this.#take(message)
  }

  #take({ type, timestamp, payload }: Message): void {
    if (type !== MESSAGE.video && type !== MESSAGE.audio) return
    const [part] = type === MESSAGE.video ? parseVideo(payload) : parseAudio(payload)
    if (part?.read.ok !== true) return
    const media = part.read.value
    if (media.kind === 'track') return this.#addTrack(media.track)
    if (media.kind === 'ignored' || this.#tracks.length < this.#expected.length) return
    const timeMs = this.#timeMs(timestamp)
    const composition = media.kind === 'video' ? media.compositionMs : 0
    const data = media.kind === 'video' ? withFourByteLengths(media.data, 4) : media.data
    if (data !== null) this.#out.frame(frameOf(media, data, timeMs, composition))
  }

  /** A configuration may come again. */
  #addTrack(track: TrackInfo): void {
    if (this.#tracks.some(({ kind, config }) => kind === track.kind && Buffer.compare(config, track.config) === 0))
      return
    this.#tracks = [...this.#tracks.filter(({ kind }) => kind !== track.kind), track]
    if (this.#tracks.length === this.#expected.length) this.#out.tracks(this.#tracks)
  }
}

const frameOf = (
  media: { kind: 'video'; key: boolean } | { kind: 'audio' },
  data: Uint8Array,
  timeMs: number,
  compositionMs: number,
): Frame => ({
  kind: media.kind,
  key: media.kind === 'audio' || media.key,
  timeUs: Math.max(0, timeMs + compositionMs) * 1000,
  decodeTimeUs: Math.max(0, timeMs) * 1000,
  data,
})
