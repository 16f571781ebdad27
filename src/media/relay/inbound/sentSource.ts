import { Recent } from '../../../base/recent.ts'
import type { SourceReading } from '../../../core/streams/source.ts'
import type { TrackInfo } from '../../frame.ts'
import type { LevelFigures } from '../../measure/levelMeter.ts'
import type { LinkTotals } from '../../measure/linkMeter.ts'
import { SourceMeter } from '../../measure/sourceMeter.ts'
import type { MediaPacket } from '../forward/packet.ts'
import type { RtpTrack } from '../forward/rtpTrack.ts'
import type { Layer } from '../forward/source.ts'

/** Times that go apart from arrival by more than this, from one frame to the next, are of a clock that was set. */
const JUMP_MS = 2000
/** Waits for keyframes that count, one for each look. */
const WAITS_MS = 60_000
const WAITS_MAX = 64

/** Measures what a WebRTC publisher sends, by the times of its RTP clocks: audio, and the layer of its video that has the most bits. */
export class SentSource {
  readonly #meter = new SourceMeter()
  readonly #layers: readonly Layer[]
  readonly #before = new Map<RtpTrack, { readonly timeMs: number; readonly atMs: number }>()
  readonly #waits = new Recent<{ readonly atMs: number; readonly ms: number }>(WAITS_MS, WAITS_MAX)
  #top: RtpTrack | null
  /** Pictures in the order of their packets, which is that of decoding. */
  #decodedMs = Number.NEGATIVE_INFINITY

  constructor(audio: RtpTrack | null, layers: readonly Layer[]) {
    this.#layers = layers
    this.#top = layers[0]?.track ?? null
    for (const track of [...layers.map((layer) => layer.track), ...(audio === null ? [] : [audio])])
      track.onFrame = (packet, key, nowMs) => this.#frame(track, packet, key, nowMs)
  }

  /** The level of the packet of audio that comes, as for `SourceMeter`. */
  level(belowDb: number): void {
    this.#meter.level(belowDb)
  }

  get levels(): LevelFigures {
    return this.#meter.levels
  }

  tracks(tracks: readonly TrackInfo[]): void {
    this.#meter.tracks(tracks)
  }

  /** Call it about once a second. */
  look(totals: LinkTotals, nowMs: number): void {
    this.#meter.link(totals, nowMs)
    const active = this.#layers.filter(({ meter }) => meter.bitrate > 0)
    const [largest] = active.toSorted((a, b) => b.meter.bitrate - a.meter.bitrate)
    if (largest !== undefined) this.#top = largest.track
    if (this.#top !== null) this.#waits.add({ atMs: nowMs, ms: this.#top.keyframeWaitMs })
  }

  reading(): SourceReading {
    const layers = this.#layers.filter(({ meter }) => meter.bitrate > 0).length
    const waits = this.#waits.all.map(({ ms }) => ms)
    return {
      ...this.#meter.reading(),
      ...(waits.length > 0 && { keyframeWaitMs: Math.round(Math.max(...waits)) }),
      ...(this.#layers.length > 1 && { layers }),
    }
  }

  #frame(track: RtpTrack, { timestamp, payload }: MediaPacket, isKey: boolean, nowMs: number): void {
    const isAudio = track.shape.kind === 'audio'
    const timeMs = isAudio || track === this.#top ? track.timeline.wallAt(timestamp) : null
    if (timeMs === null) return
    const before = this.#before.get(track)
    const isJump = before !== undefined && Math.abs(timeMs - before.timeMs - (nowMs - before.atMs)) > JUMP_MS
    this.#before.set(track, { timeMs, atMs: nowMs })
    if (!isAudio) this.#decodedMs = isJump ? timeMs : Math.max(timeMs, this.#decodedMs)
    const decodeTimeUs = (isAudio ? timeMs : this.#decodedMs) * 1000
    const kind = isAudio ? 'audio' : 'video'
    this.#meter.frame({ kind, timeUs: timeMs * 1000, decodeTimeUs, key: isKey, data: payload, isJump }, nowMs)
  }
}
