import type { Clock } from '../base/clock.ts'
import { LateLooks } from '../base/lateLooks.ts'
import { Recent } from '../base/recent.ts'
import {
  type BitrateSlot,
  HEALTH_SLOT_MS,
  HEALTH_WINDOW_MS,
  healthOf,
  rangeOf,
  SAMPLE_MS,
  SETTLING_MS,
  type StreamHealth,
} from '../core/streams/health.ts'
import { FindingWatch, type Found, type SourceFacts } from '../core/streams/findings.ts'
import type { FeedReading } from '../core/streams/reading.ts'
import type { SourceReading } from '../core/streams/source.ts'
import type { ActiveSession } from '../media/sessionRegistry.ts'

/** Totals of a publisher at one moment, monotonic milliseconds. */
interface Mark {
  readonly atMs: number
  readonly bytes: number
  readonly frames: number
}

/** Totals are reported once a second while they grow. After this time without a report nothing has arrived. */
const QUIET_MS = 3_000
/** A bitrate is an average over the last marks: of some five seconds. */
export const MARKS = 3
/**
 * Encoders begin with a burst, and with too little of everything. So does a machine that has stood still: what comes late then is no
 * fault of any publisher.
 */
const BEGINNING_MS = 5_000
const SLOTS_MAX = HEALTH_WINDOW_MS / HEALTH_SLOT_MS

/** Measures one feed of this node: its bitrate, frame rate and health. */
export class FeedMeter {
  /** Viewers of the stream at once, at all nodes. */
  mostViewers = 0
  health: StreamHealth = 'steady'
  /** Bytes to viewers of the stream at this node while this feed was on the air. */
  bytesOut = 0
  readonly #clock: Clock
  readonly #slots = new Recent<BitrateSlot>(HEALTH_WINDOW_MS, SLOTS_MAX)
  readonly #startedAtMs: number
  #marks: readonly Mark[] = []
  #slotStart: Mark | null = null
  readonly #looks: LateLooks
  readonly #findings = new FindingWatch()

  constructor(clock: Clock) {
    this.#clock = clock
    this.#startedAtMs = clock.monotonic()
    this.#looks = new LateLooks(SAMPLE_MS, this.#startedAtMs)
  }

  /** Takes the current totals. Call it every `SAMPLE_MS`. */
  sample(entry: ActiveSession): void {
    const nowMs = this.#clock.monotonic()
    this.#looks.look(nowMs)
    const mark = this.#markOf(entry, nowMs)
    if (mark !== null) this.#add(mark)
    const silentMs = entry.mediaAtMs === null ? 0 : this.#looks.lastedMs(entry.mediaAtMs, nowMs)
    if (nowMs - Math.max(this.#startedAtMs, this.#looks.resumedMs) >= BEGINNING_MS)
      this.#findings.look(sourceFactsOf(entry), this.#clock.now(), nowMs)
    const isImpaired = this.findings.length > 0
    this.health = healthOf(this.#recent(nowMs), { silentMs, before: this.health, isImpaired })
  }

  reading(entry: ActiveSession): FeedReading {
    const tracks = entry.media?.tracks ?? []
    const video = tracks.find((track) => track.kind === 'video')
    const audio = tracks.find((track) => track.kind === 'audio')
    const range = rangeOf(this.#recent(this.#clock.monotonic()))
    return {
      videoCodec: video?.codec ?? null,
      audioCodec: audio?.codec ?? null,
      width: video?.width || null,
      height: video?.height || null,
      frameRate: video === undefined ? null : frameRateOf(this.#marks, entry.media?.source),
      bitrateIn: rateOf(this.#marks, ({ bytes }) => bytes * 8),
      bitrateLowest: range?.lowest ?? null,
      bitrateHighest: range?.highest ?? null,
      health: this.health,
      source: entry.media?.source ?? {},
      findings: this.findings,
    }
  }

  /** What is wrong with its media, the worst first. */
  get findings(): readonly Found[] {
    return this.#findings.found()
  }

  /** Null: nothing new was reported, and it is too early to call that silence. */
  #markOf({ bytes, media }: ActiveSession, nowMs: number): Mark | null {
    const [last, countedAtMs] = [this.#marks.at(-1), media?.countedAtMs ?? null]
    const totals = { bytes: bytes.bytesIn, frames: media?.frames ?? 0 }
    if (countedAtMs !== null && countedAtMs > (last?.atMs ?? -1)) return { atMs: countedAtMs, ...totals }
    return last !== undefined && nowMs - last.atMs >= QUIET_MS ? { atMs: nowMs, ...totals } : null
  }

  #add(mark: Mark): void {
    this.#marks = [...this.#marks.slice(1 - MARKS), mark]
    this.#slotStart ??= mark
    const elapsedMs = mark.atMs - this.#slotStart.atMs
    if (elapsedMs < HEALTH_SLOT_MS) return
    const bitrate = Math.round(((mark.bytes - this.#slotStart.bytes) * 8000) / elapsedMs)
    if (this.#slotStart.atMs - this.#startedAtMs >= SETTLING_MS) this.#slots.add({ atMs: mark.atMs, bitrate })
    this.#slotStart = mark
  }

  #recent(nowMs: number): BitrateSlot[] {
    return this.#slots.within(nowMs - HEALTH_WINDOW_MS, Number.POSITIVE_INFINITY)
  }
}

export const sourceFactsOf = ({ session, media }: ActiveSession): SourceFacts => ({
  protocol: session.protocol,
  source: media?.source ?? {},
})

/** After a pause more frames come at once than the publisher has sent in that time: then the rate is that of its own clock. */
function frameRateOf(marks: readonly Mark[], { sentFrameRate }: SourceReading = {}): number | null {
  const counted = rateOf(marks, ({ frames }) => frames)
  return counted === null ? null : Math.min(counted, Math.round(sentFrameRate ?? counted))
}

/** Per second, between the first and the last mark; null: not known yet. */
export function rateOf<M extends { readonly atMs: number }>(
  marks: readonly M[],
  totalOf: (mark: M) => number,
): number | null {
  const [first, last] = [marks[0], marks.at(-1)]
  if (first === undefined || last === undefined || last.atMs <= first.atMs) return null
  return Math.round(((totalOf(last) - totalOf(first)) * 1000) / (last.atMs - first.atMs))
}
