import type { Fragment } from './fragments.ts'

/** Where a piece of media can be fetched, for a playlist. */
export type UriOf = (
  piece: { readonly kind: 'init'; readonly run: number } | { readonly kind: 'segment'; readonly sequence: number },
) => string

export interface SegmentOptions {
  /** A segment is closed at the first keyframe after this, seconds. */
  readonly targetSeconds: number
  /** How many closed segments a playlist names. */
  readonly listed: number
  /** The most that is kept, bytes; beyond it the oldest segments go first. */
  readonly maxBytes: number
}

interface Segment {
  readonly sequence: number
  /** Which start of the encoder it belongs to: another one has another init and another clock. */
  readonly run: number
  readonly startsAtMs: number
  readonly independent: boolean
  pieces: Buffer[]
  bytes: number
  duration: number
}

/** Kept beyond the playlist, for viewers who read an old one (RFC 8216 section 6.2.2). */
const KEPT_MORE = 3
/** Without a keyframe a segment goes on for this many targets; then it is cut where it is. */
const STRETCH = 2

/** The segments of one live stream, in memory: fragments go in, playlists and segments come out. */
export class SegmentList {
  readonly #options: SegmentOptions
  readonly #inits = new Map<number, Buffer>()
  #closed: Segment[] = []
  #open: Segment | null = null
  #nextSequence = 0
  #run = -1
  #runStartedAtMs: number | null = null
  #longest: number
  #discontinuities = 0
  #ended = false
  #peakBitsPerSecond = 0

  constructor(options: SegmentOptions) {
    this.#options = options
    this.#longest = options.targetSeconds
  }

  /** Closed segments that a playlist would name now. */
  get ready(): number {
    return Math.min(this.#closed.length, this.#options.listed)
  }

  /** Of the busiest segment so far; 0 before the first. */
  get peakBitsPerSecond(): number {
    return this.#peakBitsPerSecond
  }

  /** The encoder began (again): what follows belongs to this init. */
  begin(init: Buffer): void {
    this.#close()
    this.#run += 1
    this.#runStartedAtMs = null
    this.#inits.set(this.#run, init)
  }

  /** True when a segment was closed. */
  add(fragment: Fragment, nowMs: number): boolean {
    this.#runStartedAtMs ??= nowMs - (fragment.start + fragment.duration) * 1000
    const closes = this.#open !== null && this.#isFull(this.#open, fragment)
    if (closes) this.#close()
    this.#open ??= this.#segment(fragment, this.#runStartedAtMs)
    this.#open.pieces.push(fragment.bytes)
    this.#open.bytes += fragment.bytes.length
    this.#open.duration += fragment.duration
    return closes
  }

  /** No more will come. */
  end(): void {
    this.#close()
    this.#ended = true
  }

  segment(sequence: number): Buffer | undefined {
    const found = this.#closed.find((segment) => segment.sequence === sequence)
    if (found === undefined) return undefined
    if (found.pieces.length > 1) found.pieces = [Buffer.concat(found.pieces)]
    return found.pieces[0]
  }

  init(run: number): Buffer | undefined {
    return this.#inits.get(run)
  }

  /** The newest init. */
  get latestInit(): Buffer | undefined {
    return this.#inits.get(this.#run)
  }

  /** The media playlist (RFC 8216 section 4.3). */
  playlist(uriOf: UriOf): string {
    const listed = this.#closed.slice(-this.#options.listed)
    const skipped = this.#closed.slice(0, this.#closed.length - listed.length)
    const lines = [
      '#EXTM3U',
      '#EXT-X-VERSION:7',
      `#EXT-X-TARGETDURATION:${Math.round(this.#longest)}`,
      `#EXT-X-MEDIA-SEQUENCE:${listed[0]?.sequence ?? this.#nextSequence}`,
      `#EXT-X-DISCONTINUITY-SEQUENCE:${this.#discontinuities + changesIn([...skipped, ...listed.slice(0, 1)])}`,
      ...(listed.every(({ independent }) => independent) ? ['#EXT-X-INDEPENDENT-SEGMENTS'] : []),
      ...listed.flatMap((segment, index) => entryOf(segment, listed[index - 1], uriOf)),
      ...(this.#ended ? ['#EXT-X-ENDLIST'] : []),
    ]
    return `${lines.join('\n')}\n`
  }

  #isFull(open: Segment, next: Fragment): boolean {
    const { targetSeconds } = this.#options
    // Frame times are not exact: a keyframe that comes a frame early closes the segment too.
    if (next.key && open.duration > targetSeconds - 0.1) return true
    return open.duration >= targetSeconds * STRETCH
  }

  #segment({ start, key }: Fragment, runStartedAtMs: number): Segment {
    return {
      sequence: this.#nextSequence++,
      run: this.#run,
      startsAtMs: Math.round(runStartedAtMs + start * 1000),
      independent: key,
      pieces: [],
      bytes: 0,
      duration: 0,
    }
  }

  #close(): void {
    const closing = this.#open
    if (closing === null) return
    this.#open = null
    this.#closed.push(closing)
    this.#longest = Math.max(this.#longest, closing.duration)
    if (closing.duration > 0)
      this.#peakBitsPerSecond = Math.max(this.#peakBitsPerSecond, Math.round((closing.bytes * 8) / closing.duration))
    this.#forget()
  }

  #forget(): void {
    const { listed, maxBytes } = this.#options
    let bytes = this.#closed.reduce((sum, segment) => sum + segment.bytes, 0)
    while (this.#closed.length > listed + KEPT_MORE || (bytes > maxBytes && this.#closed.length > 1)) {
      const gone = this.#closed.shift()
      bytes -= gone?.bytes ?? 0
      if (gone?.run !== this.#closed[0]?.run) this.#discontinuities += 1
    }
    const oldest = this.#closed[0]?.run ?? this.#run
    for (const run of this.#inits.keys()) if (run < oldest) this.#inits.delete(run)
  }
}

/** How often the encoder began anew within a row of segments. */
const changesIn = (segments: readonly Segment[]): number =>
  segments.filter((segment, index) => index > 0 && segment.run !== segments[index - 1]?.run).length

function entryOf(segment: Segment, before: Segment | undefined, uriOf: UriOf): string[] {
  const begins = segment.run !== before?.run
  return [
    ...(begins && before !== undefined ? ['#EXT-X-DISCONTINUITY'] : []),
    ...(begins ? [`#EXT-X-MAP:URI="${uriOf({ kind: 'init', run: segment.run })}"`] : []),
    ...(begins ? [`#EXT-X-PROGRAM-DATE-TIME:${new Date(segment.startsAtMs).toISOString()}`] : []),
    `#EXTINF:${segment.duration.toFixed(3)},`,
    uriOf({ kind: 'segment', sequence: segment.sequence }),
  ]
}
