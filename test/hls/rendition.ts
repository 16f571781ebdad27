import type { Clock } from '../../src/base/clock.ts'
import { type Answer, checkAnswer, checkCompressed, checkMissing, checkRange, checkSameBytes } from './answers.ts'
import { type Client, withQuery } from './client.ts'
import { RenditionMedia } from './renditionMedia.ts'
import { checkPlaylist } from './onePlaylist.ts'
import {
  type MediaPlaylist,
  endMsOf,
  nextOf,
  playingSeconds,
  readMediaPlaylist,
  type Segment,
  type Variant,
} from './playlist.ts'
import type { Report } from './report.ts'
import { checkBlocking, checkNews, checkSameText, checkSuccessor, type Request } from './twoPlaylists.ts'
import { unless } from './violation.ts'

export interface RenditionOptions {
  readonly clock: Clock
  readonly client: Client
  readonly report: Report
  readonly variant: Variant
  /** The media playlist, as two viewers got its address. The first one follows redirections. */
  readonly urls: [string, string]
  /** How late a busy machine may be, seconds. */
  readonly graceSeconds: number
  readonly name: string
}

/** A failing playlist is requested again after this. */
const FAILED_MS = 500
/** A blocking request that took this part of a part target had to wait. */
const WAITED = 0.3
const MATCHES_TRIED = 5
const LOOK_MS = 100
/** The newest part of a stream may be this old, milliseconds. */
const BEHIND_MS = 1500

/** The parameters of a request are not a part of the address; a ticket may be one. */
function withoutQuery(url: string): string {
  const address = new URL(url)
  for (const name of ['_HLS_msn', '_HLS_part']) address.searchParams.delete(name)
  return address.href
}

/** Follows one rendition as a player does, and reports what breaks a rule. */
export class Rendition {
  readonly media: RenditionMedia
  readonly #options: RenditionOptions
  #before: MediaPlaylist | null = null
  #changedAtMs: number
  /** How often the server had been away at the playlist before. */
  #outages = 0
  #untilMs = 0
  #lateCheck: Promise<void> | null = null

  constructor(options: RenditionOptions) {
    this.#options = options
    this.#changedAtMs = options.clock.monotonic()
    this.media = new RenditionMedia(options)
  }

  get #nowMs(): number {
    return this.#options.clock.monotonic()
  }

  /** Its newest media is older than that of a stream that goes on. */
  get isBehind(): boolean {
    if (this.#before === null || this.#before.ended) return false
    const { partTargetSeconds, targetSeconds } = this.#before
    const usualMs = partTargetSeconds === null ? targetSeconds * 2000 : 0
    return this.#options.clock.now() - endMsOf(this.#before) > usualMs + BEHIND_MS
  }

  /** Resolves at `untilMs`, monotonic, when the playlist ends, or when it is enough. */
  async watch(untilMs: number, isEnough: () => boolean): Promise<void> {
    const { client } = this.#options
    this.#untilMs = untilMs
    while (this.#nowMs < untilMs && !client.isOver && this.#before?.ended !== true && !isEnough()) {
      const request = this.#before?.canBlockReload ? nextOf(this.#before) : null
      const playlist = await this.#load(request)
      if (playlist === null) await client.sleep(FAILED_MS)
      else await this.#take(playlist)
    }
    this.#untilMs = 0
    await this.media.settled()
  }

  async #load(request: Request | null): Promise<MediaPlaylist | null> {
    const { client, report, urls, name, graceSeconds } = this.#options
    const url = request ? withQuery(urls[0], { _HLS_msn: request.msn, _HLS_part: request.part }) : urls[0]
    const sentAtMs = this.#nowMs
    const { outages } = client
    const answer = await client.get(request ? 'blocking' : 'playlist', url)
    if (client.isOver) return null
    const wasAway = client.outages !== outages
    if (wasAway) this.#changedAtMs = this.#nowMs
    const at = `${name} media playlist`
    report.add(unless(answer?.status === 200, 'answer', at, '200', answer?.status ?? 'no connection'))
    if (answer?.status !== 200) return null
    urls[0] = withoutQuery(answer.url)
    const playlist = readMediaPlaylist(answer.body.toString())
    report.add(checkAnswer(answer, playlist.targetSeconds, at))
    report.add(playlist.text.length > 1024 ? checkCompressed(answer.headers, at) : [])
    if (request !== null && !wasAway) {
      const partSeconds = playlist.partTargetSeconds ?? playlist.targetSeconds
      const waited = this.#nowMs - sentAtMs > partSeconds * 1000 * WAITED
      const graceParts = Math.ceil(graceSeconds / partSeconds)
      report.add(checkBlocking(request, playlist, { waited, graceParts }, name))
      report.seen.blocking += 1
    }
    return playlist
  }

  async #take(playlist: MediaPlaylist): Promise<void> {
    const { client, report, name, graceSeconds } = this.#options
    const before = this.#before
    this.#before = playlist
    report.seen.playlists += 1
    report.add(checkPlaylist(playlist, name))
    const waitedSeconds = (this.#nowMs - this.#changedAtMs) / 1000
    report.add(
      before
        ? [...checkSuccessor(before, playlist, name), ...checkNews(playlist, waitedSeconds, graceSeconds, name)]
        : [],
    )
    if (before?.text !== playlist.text) this.#changedAtMs = this.#nowMs
    this.media.take(playlist)
    // A server that was away has only new segments.
    if (before && client.outages === this.#outages) this.#watchRemoved(before, playlist)
    this.#outages = client.outages
    if (before === null) this.media.background(this.#compareViewers(playlist))
    if (!playlist.canBlockReload) await client.sleep(playlist.targetSeconds * 250)
  }

  /** V13. Once when a segment has left the playlist, and once more just before it may be removed. */
  #watchRemoved(before: MediaPlaylist, after: MediaPlaylist): void {
    const removed = before.segments.find(({ number }) => number < after.mediaSequence)
    if (removed === undefined || this.#lateCheck !== null) return
    this.#lateCheck = this.#stillThere(removed, playingSeconds(before)).finally(() => (this.#lateCheck = null))
    this.media.background(this.#lateCheck)
  }

  async #stillThere(segment: Segment, listedSeconds: number): Promise<void> {
    const { client, name } = this.#options
    const seconds = Math.max(0, segment.durationSeconds + listedSeconds - 1)
    await this.#checkThere(segment.uri, `${name} segment ${segment.number}, removed just now`)
    const { outages } = client
    const lateAtMs = this.#nowMs + seconds * 1000
    while (this.#nowMs < Math.min(lateAtMs, this.#untilMs)) await client.sleep(LOOK_MS)
    if (this.#nowMs < lateAtMs || client.outages !== outages) return
    await this.#checkThere(segment.uri, `${name} segment ${segment.number}, removed ${seconds.toFixed(1)} s ago`)
  }

  async #checkThere(uri: string, where: string): Promise<void> {
    const { client, report, urls } = this.#options
    const { outages } = client
    const answer = await client.get('media', new URL(uri, urls[0]).href, { Range: 'bytes=0-0' })
    if (client.isOver || client.outages !== outages) return
    report.seen.removed += 1
    report.add(unless(answer !== null && answer.status < 300, 'V13', where, 'the segment', answer?.status))
  }

  /** V25, and those of V23 and V24 that need a request of their own. */
  async #compareViewers(playlist: MediaPlaylist): Promise<void> {
    const { client, urls } = this.#options
    for (let tries = 0; tries < MATCHES_TRIED; tries++) {
      const [one, other] = await Promise.all(urls.map((url) => client.get('playlist', url)))
      if (one?.status === 200 && other?.status === 200 && this.#comparePlaylists(one, other)) break
    }
    const last = playlist.segments.at(-1)
    if (last === undefined) return
    await this.#compareMedia(last.uri)
    if (last.mapUri !== null) await this.#compareMedia(last.mapUri)
    const missing = last.uri.replace(/\d+(?=\D*$)/, '999999999')
    const answer = await client.get('media', new URL(missing, urls[0]).href)
    if (answer !== null) this.#options.report.add(checkMissing(answer, this.#options.name))
  }

  /** False: one of them is newer, so they cannot be compared. */
  #comparePlaylists(one: Answer, other: Answer): boolean {
    const { report, name } = this.#options
    const [a, b] = [one.body.toString(), other.body.toString()]
    const [first, second] = [nextOf(readMediaPlaylist(a)), nextOf(readMediaPlaylist(b))]
    if (first.msn !== second.msn || first.part !== second.part) return false
    report.seen.compared += 1
    report.add(checkSameText(a, b, `${name} media playlist`))
    return true
  }

  async #compareMedia(uri: string): Promise<void> {
    const { client, report, urls, name } = this.#options
    const [one, other] = urls.map((url) => new URL(uri, url).href) as [string, string]
    const [mine, theirs, range] = await Promise.all([
      client.get('media', one),
      client.get('media', other),
      client.get('media', one, { Range: 'bytes=10-19' }),
    ])
    if (mine?.status !== 200 || range === null) return
    const at = `${name} ${uri.split('?')[0]}`
    report.add(checkRange(range, mine.body, 10, 19, at))
    if (theirs?.status !== 200) return
    report.seen.compared += 1
    report.add(checkSameBytes(mine.body, theirs.body, at))
  }
}
