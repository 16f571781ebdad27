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

export interface RenditionOptions {
  readonly stream: string
  readonly name: string
  readonly store: SegmentStore
  readonly first: FirstNumbers
  /** How many closed segments a playlist lists. */
  readonly listed: number
  /** The most bytes of closed segments; beyond it the oldest are removed. */
  readonly maxBytes: number
}

/** What is constant in a rendition once it has begun. */
export interface Targets extends Pick<RenditionFacts, 'targetSeconds' | 'partSeconds'> {
  readonly frameRate: number | null
}

export interface NewPart extends Pick<PartFact, 'duration' | 'independent'> {
  readonly bytes: Buffer
}

/** Of the first init of a run. */
export type Described = Pick<VariantFacts, 'codecs' | 'size'>

/** The segments of one rendition: parts go in, facts and bytes come out. */
export class HlsRendition {
  readonly #options: RenditionOptions
  readonly #meter = new BandwidthMeter()
  #targets: Targets | null = null
  #described: Described = { codecs: '', size: null }
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

  /** Says what is constant from now on. Call it once, before the first part. */
  choose(targets: Targets): void {
    this.#targets = targets
    this.#facts = null
  }

  /** Adds a part; the first one of a segment opens it, at this date. */
  add({ bytes, duration, independent }: NewPart, startMs: number): void {
    const part = { n: this.#nextPart++, duration, independent, bytes: bytes.length }
    const open = this.#open ?? this.#newSegment(independent, startMs)
    this.#options.store.put(this.#key('part', partName(part.n)), bytes)
    this.#openBytes.push(bytes)
    this.#open = {
      ...open,
      duration: open.duration + duration,
      parts: [...open.parts, part],
      bytes: open.bytes + bytes.length,
    }
    this.#facts = null
  }

  /** The open segment is complete. */
  close(): void {
    if (this.#open === null) return
    const segment = { ...this.#open, closed: true }
    this.#endMs = segment.startMs + segment.duration * 1000
    this.#options.store.put(this.#key('segment', segmentName(segment.n)), Buffer.concat(this.#openBytes), segment)
    this.#closed.push(segment)
    this.#meter.add(segment.bytes, segment.duration)
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
    const { peak, average } = this.#meter.bandwidth
    const { codecs, size } = this.#described
    const frameRate = this.#targets?.frameRate ?? null
    return { rendition: this.#options.name, bandwidth: peak, averageBandwidth: average, codecs, size, frameRate }
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
    const segments = this.#open === null ? this.#closed : [...this.#closed, this.#open]
    const found =
      kind === 'segment'
        ? segments.find((segment) => segment.n === n)
        : segments.flatMap(({ parts }) => parts).find((part) => part.n === n)
    return kind === 'init' ? 0 : Math.round((found?.duration ?? 0) * 1000)
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

  /**
   * A player may still fetch what the playlist before this one listed (RFC 8216 section 6.2.2): a removed segment stays
   * for its own length and that of a playlist.
   */
  #forget(): void {
    const { listed, maxBytes, store, stream, name } = this.#options
    let bytes = this.#closed.reduce((sum, segment) => sum + segment.bytes, 0)
    let removed = false
    while (this.#closed.length > 2 * listed + 1 || (bytes > maxBytes && this.#closed.length > 1)) {
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
