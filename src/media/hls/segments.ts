import type { Mp4Fragment } from './fragments.ts'

/** A resource that a playlist lists. Parts are numbered within their segment. */
export type Piece =
  | { readonly kind: 'init'; readonly run: number }
  | { readonly kind: 'segment'; readonly sequence: number }
  | { readonly kind: 'part'; readonly sequence: number; readonly part: number }

/** The address of a piece. */
export type UriOf = (piece: Piece) => string

export interface SegmentOptions {
  /** A segment is closed at the first keyframe after this, seconds. */
  readonly targetSeconds: number
  /** How many closed segments a playlist lists. */
  readonly listed: number
  /** The most bytes in memory; beyond it the oldest segments are removed. */
  readonly maxBytes: number
  /** Whether playlists also list parts of segments (low-latency HLS). */
  readonly parts: boolean
}

interface Segment {
  readonly sequence: number
  /** Counts the starts of the encoder: each has its own init and its own clock. */
  readonly run: number
  readonly startsAtMs: number
  readonly independent: boolean
  fragments: Mp4Fragment[]
  /** The whole segment, made at the first request for it. */
  whole: Buffer | null
  bytes: number
  duration: number
}

/** Segments kept beyond the playlist, for viewers with an older playlist (RFC 8216 section 6.2.2). */
const UNLISTED = 3
/** Without a keyframe a segment is cut after this many target durations. */
const STRETCH = 2
/** How many of the last segments list their parts: those within three target durations of the end. */
const SEGMENTS_WITH_PARTS = 3
/** The usual duration of a fragment, seconds. */
const PART_SECONDS = 0.5
/** A longer part comes from a gap in the video: it raises the part target only while it is listed. */
const USUAL_PART_SECONDS = 2 * PART_SECONDS

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
  #longestPart = PART_SECONDS
  #discontinuities = 0
  #ended = false
  #peakBitsPerSecond = 0

  constructor(options: SegmentOptions) {
    this.#options = options
    this.#longest = options.targetSeconds
  }

  /** How many segments a playlist would list now. */
  get ready(): number {
    return Math.min(this.#closed.length, this.#options.listed)
  }

  /** The highest bitrate of a segment so far; 0 before the first. */
  get peakBitsPerSecond(): number {
    return this.#peakBitsPerSecond
  }

  /** The sequence number of the open segment, or of the next one. */
  get current(): number {
    return this.#open?.sequence ?? this.#nextSequence
  }

  /** The encoder has (re)started: the next fragments belong to this init. */
  begin(init: Buffer): void {
    this.#close()
    this.#run += 1
    this.#runStartedAtMs = null
    this.#inits.set(this.#run, init)
  }

  add(fragment: Mp4Fragment, nowMs: number): void {
    this.#runStartedAtMs ??= nowMs - (fragment.start + fragment.duration) * 1000
    if (this.#open !== null && this.#isFull(this.#open, fragment)) this.#close()
    this.#open ??= this.#segment(fragment, this.#runStartedAtMs)
    this.#open.fragments.push(fragment)
    this.#open.bytes += fragment.bytes.length
    this.#open.duration += fragment.duration
    if (fragment.duration <= USUAL_PART_SECONDS) this.#longestPart = Math.max(this.#longestPart, fragment.duration)
  }

  /** The stream is over. */
  end(): void {
    this.#close()
    this.#ended = true
  }

  /** Does the playlist list this segment, or this part of it, or a later one? */
  has(sequence: number, part: number | null): boolean {
    if (this.#ended || sequence < this.current) return true
    return part !== null && sequence === this.#open?.sequence && part < this.#open.fragments.length
  }

  init(run: number): Buffer | undefined {
    return this.#inits.get(run)
  }

  segment(sequence: number): Buffer | undefined {
    const found = this.#closed.find((segment) => segment.sequence === sequence)
    return found && wholeOf(found)
  }

  part(sequence: number, part: number): Buffer | undefined {
    const found = this.#open?.sequence === sequence ? this.#open : this.#closed.find((s) => s.sequence === sequence)
    return found?.fragments[part]?.bytes
  }

  /** The newest init. */
  get latestInit(): Buffer | undefined {
    return this.#inits.get(this.#run)
  }

  /** The media playlist (RFC 8216 section 4.3; parts: draft-pantos-hls-rfc8216bis section 4.4). */
  playlist(uriOf: UriOf): string {
    const listed = this.#closed.slice(-this.#options.listed)
    const skipped = this.#closed.slice(0, this.#closed.length - listed.length)
    const withParts = this.#options.parts && !this.#ended
    const lines = [
      '#EXTM3U',
      `#EXT-X-VERSION:${withParts ? 9 : 7}`,
      `#EXT-X-TARGETDURATION:${Math.round(this.#longest)}`,
      ...(withParts ? partRules(this.#partTarget(listed.slice(-SEGMENTS_WITH_PARTS))) : []),
      `#EXT-X-MEDIA-SEQUENCE:${listed[0]?.sequence ?? this.current}`,
      `#EXT-X-DISCONTINUITY-SEQUENCE:${this.#discontinuities + changesIn([...skipped, ...listed.slice(0, 1)])}`,
      ...(listed.every(({ independent }) => independent) ? ['#EXT-X-INDEPENDENT-SEGMENTS'] : []),
      ...listed.flatMap((segment, index) => [
        ...beginningOf(segment, listed[index - 1], uriOf),
        ...(withParts && index >= listed.length - SEGMENTS_WITH_PARTS ? partsOf(segment, uriOf) : []),
        `#EXTINF:${segment.duration.toFixed(3)},`,
        uriOf({ kind: 'segment', sequence: segment.sequence }),
      ]),
      ...(withParts ? this.#openParts(listed.at(-1), uriOf) : []),
      ...(this.#ended ? ['#EXT-X-ENDLIST'] : []),
    ]
    return `${lines.join('\n')}\n`
  }

  /** The part target, seconds; no listed part is longer. */
  #partTarget(listed: readonly Segment[]): number {
    const segments = this.#open === null ? listed : [...listed, this.#open]
    const durations = segments.flatMap(({ fragments }) => fragments.map(({ duration }) => duration))
    return Math.max(this.#longestPart, ...durations)
  }

  /** The parts of the open segment, and a preload hint for the next one. */
  #openParts(before: Segment | undefined, uriOf: UriOf): string[] {
    const open = this.#open
    const next: Piece = { kind: 'part', sequence: this.current, part: open?.fragments.length ?? 0 }
    return [
      ...(open === null ? [] : [...beginningOf(open, before, uriOf), ...partsOf(open, uriOf)]),
      `#EXT-X-PRELOAD-HINT:TYPE=PART,URI="${uriOf(next)}"`,
    ]
  }

  #isFull(open: Segment, next: Mp4Fragment): boolean {
    const { targetSeconds } = this.#options
    // Timestamps are not exact: a keyframe that comes a frame early closes the segment too.
    if (next.key && open.duration > targetSeconds - 0.1) return true
    return open.duration >= targetSeconds * STRETCH
  }

  #segment({ start, key }: Mp4Fragment, runStartedAtMs: number): Segment {
    return {
      sequence: this.#nextSequence++,
      run: this.#run,
      startsAtMs: Math.round(runStartedAtMs + start * 1000),
      independent: key,
      fragments: [],
      whole: null,
      bytes: 0,
      duration: 0,
    }
  }

  #close(): void {
    const closing = this.#open
    if (closing === null) return
    this.#open = null
    this.#closed.push(closing)
    // Rounded as in the playlist, so that EXTINF never exceeds the target duration.
    this.#longest = Math.max(this.#longest, Number(closing.duration.toFixed(3)))
    if (closing.duration > 0)
      this.#peakBitsPerSecond = Math.max(this.#peakBitsPerSecond, Math.round((closing.bytes * 8) / closing.duration))
    this.#forget()
  }

  #forget(): void {
    const { listed, maxBytes } = this.#options
    let bytes = this.#closed.reduce((sum, segment) => sum + segment.bytes, 0)
    while (this.#closed.length > listed + UNLISTED || (bytes > maxBytes && this.#closed.length > 1)) {
      const gone = this.#closed.shift()
      bytes -= gone?.bytes ?? 0
      if (gone?.run !== this.#closed[0]?.run) this.#discontinuities += 1
    }
    const oldest = this.#closed[0]?.run ?? this.#run
    for (const run of this.#inits.keys()) if (run < oldest) this.#inits.delete(run)
  }
}

/** Joins the fragments once; they then become views of the whole, so that no byte is in memory twice. */
function wholeOf(segment: Segment): Buffer {
  if (segment.whole !== null) return segment.whole
  const whole = Buffer.concat(segment.fragments.map(({ bytes }) => bytes))
  let at = 0
  segment.fragments = segment.fragments.map((fragment) => {
    const bytes = whole.subarray(at, at + fragment.bytes.length)
    at += bytes.length
    return { ...fragment, bytes }
  })
  segment.whole = whole
  return whole
}

/** How often the encoder restarted within successive segments. */
const changesIn = (segments: readonly Segment[]): number =>
  segments.filter((segment, index) => index > 0 && segment.run !== segments[index - 1]?.run).length

/** The tags where the encoder has (re)started, and at the top of the playlist. */
function beginningOf(segment: Segment, before: Segment | undefined, uriOf: UriOf): string[] {
  if (segment.run === before?.run) return []
  return [
    ...(before === undefined ? [] : ['#EXT-X-DISCONTINUITY']),
    `#EXT-X-MAP:URI="${uriOf({ kind: 'init', run: segment.run })}"`,
    `#EXT-X-PROGRAM-DATE-TIME:${new Date(segment.startsAtMs).toISOString()}`,
  ]
}

/** Lets a player block until the next part, and keeps it three parts behind the end. */
function partRules(longestPart: number): string[] {
  const target = Math.ceil(longestPart * 1000) / 1000
  return [
    `#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=${(target * 3).toFixed(3)}`,
    `#EXT-X-PART-INF:PART-TARGET=${target.toFixed(3)}`,
  ]
}

const partsOf = ({ sequence, fragments }: Segment, uriOf: UriOf): string[] =>
  fragments.map(({ duration, key }, part) => {
    const uri = uriOf({ kind: 'part', sequence, part })
    return `#EXT-X-PART:DURATION=${duration.toFixed(3)},URI="${uri}"${key ? ',INDEPENDENT=YES' : ''}`
  })
