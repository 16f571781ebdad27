import { checkAnswer } from './answers.ts'
import type { Client } from './client.ts'
import { checkContinuity, checkJoin, checkPart, checkSegment, type SegmentFacts } from './media.ts'
import { BadMedia, readInit, readMedia, type TrackInit } from './mp4.ts'
import { type MediaPlaylist, type OpenSegment, type Part, type Segment } from './playlist.ts'
import type { Report } from './report.ts'
import { type Rule, unless } from './violation.ts'

export interface RenditionMediaOptions {
  readonly client: Client
  readonly report: Report
  readonly urls: readonly [string, string]
  readonly name: string
}

/** Of the first playlist, only the newest segments: a player begins there. */
const FIRST_SEGMENTS = 2
/** Bytes of parts are kept until their segment is complete. */
const PARTS_KEPT = 60
/** The end of a playlist is there this long after its last hint failed. */
const END_MS = 1000

/** Requests the media that playlists name, each piece once, and judges it. */
export class RenditionMedia {
  /** All segments so far, without the bytes of their samples. */
  readonly facts: SegmentFacts[] = []
  targetSeconds = 0
  /** How often the server had been away when the latest playlist came. */
  #outages = 0
  readonly #options: RenditionMediaOptions
  readonly #pending = new Set<Promise<void>>()
  readonly #parts = new Map<string, Promise<Buffer | null>>()
  /** Parts that have been checked. */
  readonly #judged = new Set<string>()
  readonly #inits = new Map<string, Promise<TrackInit[]>>()
  #lastSegment: number | null = null
  /** The init of the last segment that is listed. */
  #map: string | null = null
  #ended = false
  /** Segments are judged one after another. */
  #order: Promise<void> = Promise.resolve()

  constructor(options: RenditionMediaOptions) {
    this.#options = options
  }

  /** Waits for everything that was begun. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending)
  }

  background(work: Promise<void>): void {
    const pending = work.finally(() => this.#pending.delete(pending))
    this.#pending.add(pending)
  }

  take(playlist: MediaPlaylist): void {
    this.targetSeconds = playlist.targetSeconds
    this.#outages = this.#options.client.outages
    const { segments, open, independentSegments } = playlist
    this.#ended = playlist.ended
    for (const segment of [...segments, ...(open ? [open] : [])])
      for (const part of segment.parts) if (!this.#isOld(segment.number)) this.background(this.#part(part, segment))
    const from = this.#lastSegment ?? (segments.at(-1)?.number ?? 0) - FIRST_SEGMENTS
    for (const segment of segments.filter(({ number }) => number > from)) {
      const outages = this.#outages
      this.#order = this.#order.then(() => this.#segment(segment, independentSegments, outages))
      this.background(this.#order)
    }
    this.#lastSegment = segments.at(-1)?.number ?? this.#lastSegment
    this.#map = (open ?? segments.at(-1))?.mapUri ?? null
    for (const hint of playlist.hints) this.background(this.#hint(hint))
  }

  /** Its parts have been there before. */
  #isOld = (number: number): boolean => this.#lastSegment !== null && number <= this.#lastSegment

  /** V12. The bytes count as those of the part that will be listed under this address. */
  async #hint(uri: string): Promise<void> {
    if (this.#parts.has(uri)) return
    const { client, report, name } = this.#options
    const [outages, map] = [this.#outages, this.#map]
    report.seen.hints += 1
    const loading = client.get('media', this.#urlOf(uri))
    this.#parts.set(
      uri,
      loading.then((answer) => (answer?.status === 200 ? answer.body : null)),
    )
    const answer = await loading
    if (answer?.status === 200) return report.add(checkAnswer(answer, this.targetSeconds, `${name} ${nameOf(uri)}`))
    // The last hint of a stream that ends leads nowhere, and so does one before another init.
    await client.sleep(END_MS)
    const found = answer?.status ?? 'no connection'
    const isExcused = client.isOver || this.#ended || client.outages !== outages || this.#map !== map
    report.add(unless(isExcused, 'V12', `${name} hinted part ${nameOf(uri)}`, '200', found))
  }

  async #part({ uri, durationSeconds, independent }: Part, segment: OpenSegment): Promise<void> {
    const { report, name } = this.#options
    if (this.#judged.has(uri)) return
    this.#judged.add(uri)
    const [bytes, init] = await Promise.all([this.#bytesOf(uri), this.#initOf(segment.mapUri)])
    if (bytes === null || init === null) return
    report.seen.parts += 1
    const at = `${name} part ${nameOf(uri)}`
    this.#guarded(at, () => checkPart({ init, tracks: readMedia(bytes, init), durationSeconds, independent }, at))
  }

  async #segment(segment: Segment, independent: boolean, outages: number): Promise<void> {
    const { report, name } = this.#options
    const [bytes, init] = await Promise.all([
      this.#load(segment.uri, 'answer', 'segment', outages),
      this.#initOf(segment.mapUri),
    ])
    const parts = await this.#partsOf(segment)
    if (bytes === null || init === null) return
    report.seen.segments += 1
    report.add(parts ? checkJoin(parts, bytes, `${name} segment ${segment.number}`) : [])
    this.#guarded(`${name} segment ${segment.number}`, () => {
      const facts = { ...segment, bytes: bytes.length, init, tracks: readMedia(bytes, init) }
      const before = this.facts.at(-1)
      this.facts.push({ ...facts, tracks: facts.tracks.map(withoutBytes) })
      return [...checkSegment(facts, independent, name), ...(before ? checkContinuity(before, facts, name) : [])]
    })
  }

  /** The bytes of all parts of a segment; null when one of them is not known. Forgets them. */
  async #partsOf({ parts }: Segment): Promise<Buffer[] | null> {
    const loaded = await Promise.all(parts.map(async ({ uri }) => this.#parts.get(uri) ?? null))
    for (const uri of [...this.#parts.keys()].slice(0, -PARTS_KEPT)) {
      this.#parts.delete(uri)
      this.#judged.delete(uri)
    }
    return loaded.length > 0 && loaded.every((bytes) => bytes !== null) ? loaded : null
  }

  #urlOf = (uri: string): string => new URL(uri, this.#options.urls[0]).href

  #guarded(where: string, judge: () => Parameters<Report['add']>[0]): void {
    try {
      this.#options.report.add(judge())
    } catch (error) {
      if (!(error instanceof BadMedia)) throw error
      this.#options.report.add(unless(false, 'V19', where, 'fragmented MP4', error.message))
    }
  }

  #bytesOf(uri: string): Promise<Buffer | null> {
    const loading = this.#parts.get(uri) ?? this.#load(uri, 'answer', 'part')
    this.#parts.set(uri, loading)
    return loading
  }

  async #initOf(uri: string | null): Promise<TrackInit[] | null> {
    if (uri === null) return null
    const loading = this.#inits.get(uri) ?? this.#loadInit(uri)
    this.#inits.set(uri, loading)
    return loading
  }

  async #loadInit(uri: string): Promise<TrackInit[]> {
    const bytes = await this.#load(uri, 'V3', 'init segment')
    let init: TrackInit[] = []
    this.#guarded(`${this.#options.name} ${nameOf(uri)}`, () => {
      init = bytes === null ? [] : readInit(bytes)
      return []
    })
    return init
  }

  /** @param outages when a playlist named it */
  async #load(uri: string, rule: Rule, what: string, outages = this.#outages): Promise<Buffer | null> {
    const { client, report, name } = this.#options
    const answer = await client.get('media', this.#urlOf(uri))
    if (client.isOver || (answer?.status !== 200 && client.outages !== outages)) return null
    const at = `${name} ${what} ${nameOf(uri)}`
    report.add(unless(answer?.status === 200, rule, at, '200', answer?.status ?? 'no connection'))
    if (answer?.status !== 200) return null
    report.add(checkAnswer(answer, this.targetSeconds, at))
    return answer.body
  }
}

/** A ticket would only make the message long. */
const nameOf = (uri: string): string => uri.split('?')[0] ?? uri

const NO_BYTES = Buffer.alloc(0)

const withoutBytes = ({ samples, ...track }: SegmentFacts['tracks'][number]): SegmentFacts['tracks'][number] => ({
  ...track,
  samples: samples.map(({ duration, key }) => ({ duration, key, bytes: NO_BYTES })),
})
