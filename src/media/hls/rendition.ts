import { sha256 } from '../../base/crypto.ts'
import { BandwidthMeter } from '../../core/hls/bandwidth.ts'
import type {
  PartFact,
  PieceKey,
  RenditionFacts,
  SegmentFact,
  SegmentStore,
  VariantFacts,
} from '../../core/hls/facts.ts'
import { type FirstNumbers, initName, partName, segmentName } from '../../core/hls/numbers.ts'

/** Three seconds of parts. No player asks for a later one. */
const PARTS_AHEAD_MAX = 10

export interface RenditionOptions {
  readonly stream: string
  readonly name: string
  readonly store: SegmentStore
  readonly first: FirstNumbers
  /** How many closed segments a playlist lists. */
  readonly listed: number
  /** The most bytes of closed segments; beyond it the oldest are removed. */
  readonly maxBytes: number
  /** What the peak of its segments may reach, bits per second, where our encoder sets it; default: it is only measured. */
  readonly mayReach?: number
}

/** What is constant in a rendition once it has begun. */
export type Targets = Pick<RenditionFacts, 'targetSeconds' | 'partSeconds'>

export interface NewPart extends Pick<PartFact, 'duration' | 'independent'> {
  readonly bytes: Buffer
}

export interface SegmentTotals {
  /** Of the lead track. */
  readonly frames: number
  readonly bytes: number
  readonly seconds: number
}

/** Of a run. */
export interface Described extends Pick<VariantFacts, 'codecs' | 'size' | 'range'> {
  /** Of all its tracks, bits per second; 0: their publisher does not say. */
  readonly declaredBitrate: number
}

/** The segments of one rendition: parts go in, facts and bytes come out. */
export class HlsRendition {
  readonly #options: RenditionOptions
  readonly #meter = new BandwidthMeter()
  #targets: Targets | null = null
  #described: Described = { codecs: '', size: null, range: 'SDR', declaredBitrate: 0 }
  #frameRate: number | null = null
  #init: { readonly hash: string; readonly bytes: Buffer } = { hash: '', bytes: Buffer.alloc(0) }
  #closed: SegmentFact[] = []
  #open: SegmentFact | null = null
  #openBytes: Buffer[] = []
  #nextSegment: number
  #nextPart: number
  #discontinuitySequence: number
  #isContinued = true
  #endMs = Number.NEGATIVE_INFINITY
  #ended = false
  /** As of now; null: to be gathered. Playlists made of them are cached by this object. */
  #facts: RenditionFacts | null = null

  constructor(options: RenditionOptions) {
    this.#options = options
    const { segment, part, discontinuity } = options.first
    this.#nextSegment = segment
    this.#nextPart = part
    this.#discontinuitySequence = discontinuity
  }

  /** Null until the first segment is complete. */
  get targets(): Targets | null {
    return this.#targets
  }

  begin(init: Buffer, described: Described): void {
    this.#init = { hash: sha256(init).toString('hex', 0, 4), bytes: init }
    this.#described = described
    this.#putInit()
  }

  /** Frames in a second, as counted in a segment of this run; null: it has no video. */
  counted(frameRate: number | null): void {
    this.#frameRate = frameRate
  }

  /** Says what is constant from now on. Call it once, before the first part. */
  choose(targets: Targets): void {
    this.#targets = targets
    this.#facts = null
  }

  /** Adds a part; the first one of a segment opens it, at this date. Returns its segment as far as it is there. */
  add({ bytes, duration, independent }: NewPart, startMs: number): SegmentFact {
    // Players request the part that was announced under the init before this one, and would decode it with that.
    if (this.#open === null && this.#init.hash !== (this.#closed.at(-1)?.init ?? this.#init.hash)) this.#nextPart++
    const part = { n: this.#nextPart++, duration, independent, bytes: bytes.length }
    const open = this.#open ?? this.#newSegment(independent, startMs)
    this.#options.store.put(this.#key('part', partName(part.n)), bytes)
    this.#openBytes.push(bytes)
    const segment = {
      ...open,
      duration: open.duration + duration,
      parts: [...open.parts, part],
      bytes: open.bytes + bytes.length,
    }
    this.#open = segment
    this.#facts = null
    return segment
  }

  /** The open segment is complete. */
  close(): void {
    if (this.#open === null) return
    const segment = { ...this.#open, closed: true }
    this.#endMs = segment.startMs + segment.duration * 1000
    this.#options.store.close(this.#key('segment', segmentName(segment.n)), this.#openBytes, segment)
    this.#closed.push(segment)
    this.#meter.add(segment.bytes, segment.duration, this.#targets?.targetSeconds ?? segment.duration)
    this.#open = null
    this.#openBytes = []
    this.#forget()
    this.#facts = null
  }

  /** The next segment does not continue this one. */
  discontinue(): void {
    this.close()
    this.#isContinued = false
  }

  end(): void {
    this.close()
    this.#ended = true
    this.#facts = null
  }

  /** Null until the first segment is complete. The same object until something changes. */
  facts(): RenditionFacts | null {
    this.#facts ??= this.#targets === null ? null : this.#factsWith(this.#targets)
    return this.#facts
  }

  #factsWith(targets: Targets): RenditionFacts {
    return {
      ...targets,
      discontinuitySequence: this.#discontinuitySequence,
      segments: this.#open === null ? [...this.#closed] : [...this.#closed, this.#open],
      nextSegment: this.#nextSegment,
      nextPart: this.#nextPart,
      ended: this.#ended,
    }
  }

  variant(): VariantFacts {
    const { name: rendition, mayReach = 0 } = this.#options
    const { codecs, size, range, declaredBitrate } = this.#described
    const { peak, average } = this.#meter.bandwidth(declaredBitrate)
    const bandwidth = Math.max(peak, mayReach)
    return { codecs, size, range, frameRate: this.#frameRate, rendition, bandwidth, averageBandwidth: average }
  }

  /** The highest bitrate of its segments so far, bits per second. */
  get measuredPeak(): number {
    return this.#meter.measuredPeak
  }

  /** The number of the open segment, or of the next one. */
  get current(): number {
    return this.#open?.n ?? this.#nextSegment
  }

  /** How many closed segments a playlist lists now. */
  get listed(): number {
    return Math.min(this.#closed.length, this.#options.listed)
  }

  /** Does a playlist list this segment, or this part of it, or a later one? */
  has(n: number, part: number | null): boolean {
    if (this.#ended || n < this.current) return true
    return part !== null && n === this.#open?.n && part < this.#open.parts.length
  }

  /** Is it too far ahead to wait for? Another node asks once for each part that its viewers name, for as many as may wait there. */
  isFar(n: number, part: number | null): boolean {
    const parts = n === this.#open?.n ? this.#open.parts.length : 0
    return n > this.current + 1 || (n >= this.current && (part ?? 0) > parts + PARTS_AHEAD_MAX)
  }

  /** The number of the part that comes next. */
  get nextPart(): number {
    return this.#nextPart
  }

  get ended(): boolean {
    return this.#ended
  }

  /** The date at which the last closed segment ends, epoch milliseconds. */
  get endMs(): number {
    return this.#endMs
  }

  /** Where a rendition begins that takes the place of this one, after a discontinuity. */
  get next(): FirstNumbers {
    const discontinuities = this.#closed.filter(({ discontinuity }) => discontinuity).length
    const more = this.#closed.length > 0 ? 1 : 0
    return {
      segment: this.#nextSegment,
      part: this.#nextPart,
      discontinuity: this.#discontinuitySequence + discontinuities + more,
    }
  }

  /** How long this piece plays, milliseconds; 0 for an init and for what is gone. */
  playsMs(kind: PieceKey['kind'], n: number): number {
    if (kind === 'init') return 0
    const found = kind === 'segment' ? this.#closed.findLast((segment) => segment.n === n) : this.#part(n)
    return Math.round((found?.duration ?? 0) * 1000)
  }

  /** Parts have successive numbers. Called for each answer, so it copies nothing. */
  #part(n: number): PartFact | undefined {
    const holds = ({ parts: [first] }: SegmentFact): boolean => first !== undefined && first.n <= n
    const { parts = [] } = (this.#open && holds(this.#open) ? this.#open : this.#closed.findLast(holds)) ?? {}
    return parts[n - (parts[0]?.n ?? 0)]
  }

  #newSegment(independent: boolean, startMs: number): SegmentFact {
    const discontinuity = !this.#isContinued && this.#closed.length > 0
    this.#isContinued = true
    return {
      n: this.#nextSegment++,
      // A date never goes back, whatever the clocks of two publishers say.
      startMs: Math.max(startMs, this.#endMs),
      duration: 0,
      independent,
      init: this.#init.hash,
      discontinuity,
      parts: [],
      bytes: 0,
      closed: false,
    }
  }

  #forget(): void {
    const { listed, maxBytes, store, stream, name } = this.#options
    let bytes = this.#closed.reduce((sum, segment) => sum + segment.bytes, 0)
    let removed = false
    while (mayGo(this.#closed, listed) || (bytes > maxBytes && this.#closed.length > 1)) {
      const gone = this.#closed.shift()
      bytes -= gone?.bytes ?? 0
      if (gone?.discontinuity) this.#discontinuitySequence += 1
      removed = true
    }
    if (!removed) return
    void store.forget(stream, name, this.#closed[0]?.n ?? this.#nextSegment)
    this.#putInit()
  }

  #putInit(): void {
    this.#options.store.put(this.#key('init', initName(this.#init.hash)), this.#init.bytes)
  }

  #key(kind: PieceKey['kind'], name: string): PieceKey {
    return { stream: this.#options.stream, rendition: this.#options.name, kind, name }
  }
}

const secondsOf = (segments: readonly SegmentFact[]): number =>
  segments.reduce((sum, { duration }) => sum + duration, 0)

/**
 * Whether the oldest segment may be removed. A player may still fetch what an earlier playlist listed, for the length of
 * the segment and of the longest playlist with it (RFC 8216 section 6.2.2). That one also had parts of the segment that
 * took its place. A source that catches up sends media faster than it plays, so one segment more stays.
 * However short segments are, a bounded number of them stays.
 */
function mayGo(closed: readonly SegmentFact[], listed: number): boolean {
  const [oldest] = closed
  if (oldest === undefined || closed.length <= listed + 1) return false
  if (closed.length > 4 * (listed + 1)) return true
  return secondsOf(closed.slice(listed + 2)) >= oldest.duration + secondsOf(closed.slice(0, listed + 1))
}
