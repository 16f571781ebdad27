import type { Clock } from '../base/clock.ts'
import { Rotation } from '../base/rotation.ts'
import { findingOf, type SourceFinding } from '../core/streams/findings.ts'
import { figuresOf, HISTORY_SLOT_MS } from '../core/streams/history.ts'
import type { FeedReading, StreamViewing, TargetReading } from '../core/streams/reading.ts'
import { streamIdOf } from '../core/streams/streamId.ts'
import type { ActiveFeed } from '../media/feedsOnAir.ts'
import type { ActiveSession, SessionRegistry } from '../media/sessionRegistry.ts'
import type { FeedBytes, FeedReport, Store, StoredPoint, Tx } from '../store/store.ts'
import { FeedMeter, sourceFactsOf } from './feedMeter.ts'
import { type HealthChange, HealthNews } from './healthNews.ts'
import { ServedStream } from './servedStream.ts'

interface Metered {
  readonly feed: ActiveFeed
  readonly meter: FeedMeter
  readonly news: HealthNews
  /** As last written. */
  written: string
}

/** What webhooks hear of a feed. */
export interface FeedNews extends Omit<HealthChange, 'findings'> {
  readonly feed: ActiveFeed
  /** Of its publisher; null: the lowest. */
  readonly priority: number | null
  /** All that hold now. */
  readonly findings: readonly SourceFinding[]
  /** Epoch milliseconds. */
  readonly atMs: number
}

/** Writes the events of this, in the transaction of the readings. */
export type TellHealth = (tx: Tx, news: readonly FeedNews[]) => Promise<void>

/** Feeds that may have ended, or totals that may wait, while the store is unavailable. */
const WAITING_MAX = 10_000
/**
 * Points of the history that a node adds in each slot of ten seconds, with one statement: at most 1.7 million in a day. Of more
 * feeds, each has a point less often.
 */
export const POINTS_A_SLOT = 200
/** Events in one transaction, of a few kilobytes each. Others come with the next. */
const NEWS_AT_ONCE = 100

/**
 * Measures the feeds on the air at this node, and the streams that it serves, whichever node has their feeds. Writes both
 * for other nodes and for the record of past broadcasts. Costs one step for each feed and each stream, however many
 * sessions there are.
 */
export class StreamMeter {
  /** The targets of a feed. Set by what sends feeds on. */
  targetsOf: (feedId: string) => readonly TargetReading[] = () => []
  readonly #clock: Clock
  readonly #sessions: SessionRegistry
  readonly #tell: TellHealth
  readonly #metered = new Map<string, Metered>()
  /** By `keyOf`. */
  readonly #served = new Map<string, ServedStream>()
  /** Last reports of feeds that have ended, until they are written. */
  readonly #ended = new Map<string, FeedReport>()
  /** Bytes that count for feeds of other nodes, until they are written. */
  readonly #totals = new Map<string, FeedBytes>()
  /** Feeds by their turn for a point of the history. */
  readonly #turns = new Rotation<Metered>()
  /** The last slot with points. */
  #slotMs = 0

  constructor({ clock, sessions, tell }: StreamMeterParts) {
    this.#clock = clock
    this.#sessions = sessions
    this.#tell = tell
    sessions.feeds.watch((feed, what) => (what === 'started' ? this.#start(feed) : this.#end(feed)))
  }

  /** Takes the current totals of every feed and stream. Call it every two seconds. */
  sample(): void {
    const { streams } = this.#sessions
    for (const { accountId, streamName } of streams.all()) this.#servedOf(accountId, streamName)
    const nowMs = this.#clock.monotonic()
    for (const [key, served] of this.#served) {
      this.#look(served)
      served.mark(nowMs)
      if (served.isOver) this.#served.delete(key)
    }
    streams.forgetEmpty()
    for (const { feed, meter } of this.#metered.values()) {
      const entry = this.#sessions.get(feed.sessionId)
      if (entry) meter.sample(entry)
    }
  }

  /** The reading of a feed of this node; undefined: it is not on the air here. */
  reading(feedId: string): (FeedReading & { readonly mostViewers: number }) | undefined {
    const metered = this.#metered.get(feedId)
    const entry = metered && this.#sessions.get(metered.feed.sessionId)
    if (!metered || !entry) return undefined
    return { ...this.#readingOf(metered, entry), mostViewers: metered.meter.mostViewers }
  }

  /** The viewers of a stream at this node, now. */
  viewing(accountId: string, streamName: string): StreamViewing {
    const served = this.#served.get(streamIdOf({ accountId, streamName })) ?? new ServedStream(accountId, streamName)
    return this.#viewingOf(served)
  }

  /**
   * Writes what has changed, in one transaction, and reads the viewers that feeds of this node have at other nodes. Call it
   * every few seconds, and when the sessions have ended.
   */
  async write(store: Store): Promise<void> {
    const changed = [...this.#metered.values()].flatMap((metered) => this.#changeOf(metered))
    const ended = [...this.#ended.values()]
    const [reports, totals] = [[...ended, ...changed.map(({ report }) => report)], [...this.#totals.values()]]
    const slot = this.#slotOfHistory()
    const news = [...this.#metered.values()].flatMap((metered) => this.#newsOf(metered)).slice(0, NEWS_AT_ONCE)
    const { node } = this.#sessions
    const rows = node === '' ? [] : [...this.#served.values()].flatMap((served) => this.#rowOf(served, node))
    if (reports.length + totals.length + rows.length + slot.points.length + news.length > 0)
      await store.transaction(async (tx) => {
        if (rows.length > 0) await writeRows(tx, node, rows)
        await tx.feeds.report(reports)
        await tx.feeds.count(totals)
        await tx.feedHealth.put(slot.points)
        await this.#tell(
          tx,
          news.map(({ told }) => told),
        )
      })
    this.#slotMs = slot.atMs
    for (const { served, text } of rows) served.written = text
    for (const { metered, text } of changed) metered.written = text
    for (const { metered, change } of news) metered.news.tell(change)
    for (const report of ended) if (this.#ended.get(report.feedId) === report) this.#ended.delete(report.feedId)
    for (const total of totals) if (this.#totals.get(total.feedId) === total) this.#totals.delete(total.feedId)
    if (this.#metered.size > 0) await this.#readRemoteViewers(store)
  }

  /** The points of this slot; none if it has had them. */
  #slotOfHistory(): { readonly atMs: number; readonly points: StoredPoint[] } {
    const nowMs = this.#clock.now()
    const atMs = nowMs - (nowMs % HISTORY_SLOT_MS)
    if (atMs === this.#slotMs) return { atMs, points: [] }
    const points = this.#turns.next(POINTS_A_SLOT).flatMap((metered) => {
      const entry = this.#sessions.get(metered.feed.sessionId)
      const figures = entry ? figuresOf(metered.meter.reading(entry)) : null
      return figures === null ? [] : [{ feedId: metered.feed.feedId, atMs, ...figures }]
    })
    return { atMs, points }
  }

  async #readRemoteViewers(store: Store): Promise<void> {
    const rows = await store.read.streamNodes.remoteViewers(this.#sessions.node)
    const viewers = new Map(rows.map((row) => [streamIdOf(row), row.viewers]))
    for (const [key, served] of this.#served) {
      served.remoteViewers = viewers.get(key) ?? 0
      this.#look(served)
    }
  }

  #newsOf(metered: Metered): { metered: Metered; change: HealthChange; told: FeedNews }[] {
    const { feed, meter, news } = metered
    const entry = this.#sessions.get(feed.sessionId)
    const change = entry ? news.look(meter, this.#clock.monotonic()) : null
    if (!entry || change === null) return []
    const { source } = sourceFactsOf(entry)
    const findings = change.findings.map((found) => findingOf(found, source))
    const priority = entry.standing?.priority ?? null
    return [{ metered, change, told: { ...change, feed, priority, findings, atMs: this.#clock.now() } }]
  }

  #changeOf(metered: Metered): { metered: Metered; report: FeedReport; text: string }[] {
    const report = this.#reportOf(metered)
    const text = JSON.stringify(report)
    return report === null || text === metered.written ? [] : [{ metered, report, text }]
  }

  #reportOf(metered: Metered): FeedReport | null {
    const { feed, meter } = metered
    const entry = this.#sessions.get(feed.sessionId)
    if (!entry) return null
    const { mostViewers, bytesOut } = meter
    return { feedId: feed.feedId, reading: JSON.stringify(this.#readingOf(metered, entry)), mostViewers, bytesOut }
  }

  #readingOf({ feed, meter }: Metered, entry: ActiveSession): FeedReading {
    const targets = this.targetsOf(feed.feedId)
    return { ...meter.reading(entry), ...(targets.length === 0 ? {} : { targets }) }
  }

  /** A node that was given up has another id afterwards, and writes its rows again. */
  #rowOf(served: ServedStream, node: string): ChangedRow[] {
    const viewing = this.#viewingOf(served)
    const isServing = Object.values(viewing).some((figure) => figure > 0)
    const text = isServing ? JSON.stringify([node, viewing]) : ''
    return text === served.written ? [] : [{ served, viewing, text }]
  }

  #start(feed: ActiveFeed): void {
    const served = this.#servedOf(feed.accountId, feed.streamName)
    // What was sent before does not count for the new feed.
    this.#look(served)
    const meter = new FeedMeter(this.#clock)
    served.feeds.set(feed.feedId, meter)
    const metered = { feed, meter, news: new HealthNews(), written: '' }
    this.#metered.set(feed.feedId, metered)
    this.#turns.add(metered)
  }

  #end({ accountId, streamName, feedId }: ActiveFeed): void {
    const metered = this.#metered.get(feedId)
    if (!metered) return
    const served = this.#servedOf(accountId, streamName)
    this.#look(served)
    served.feeds.delete(feedId)
    this.#metered.delete(feedId)
    this.#turns.delete(metered)
    const { mostViewers, bytesOut } = metered.meter
    keepNewest(this.#ended, feedId, { feedId, reading: null, mostViewers, bytesOut })
  }

  #look(served: ServedStream): void {
    const { accountId, streamName } = served
    const count = this.#sessions.streams.of(accountId, streamName)
    const grown = served.look(count, this.#sessions.feeds.remotesOf(accountId, streamName), this.#sessions.node)
    for (const total of grown) keepNewest(this.#totals, total.feedId, total)
  }

  #servedOf(accountId: string, streamName: string): ServedStream {
    const key = streamIdOf({ accountId, streamName })
    const served = this.#served.get(key) ?? new ServedStream(accountId, streamName)
    this.#served.set(key, served)
    return served
  }

  #viewingOf(served: ServedStream): StreamViewing {
    return served.viewing(this.#sessions.streams.of(served.accountId, served.streamName))
  }
}

interface StreamMeterParts {
  readonly clock: Clock
  readonly sessions: SessionRegistry
  readonly tell: TellHealth
}

interface ChangedRow {
  readonly served: ServedStream
  readonly viewing: StreamViewing
  /** As written; empty: the row is deleted. */
  readonly text: string
}

/** The rows of a node that was given up are gone with it. */
async function writeRows(tx: Tx, node: string, rows: readonly ChangedRow[]): Promise<void> {
  if (!(await tx.nodes.lockShared(node))) return
  const streamOf = ({ accountId, streamName }: ServedStream) => ({ accountId, streamName })
  const [gone, put] = [rows.filter(({ text }) => text === ''), rows.filter(({ text }) => text !== '')]
  await tx.streamNodes.delete(
    node,
    gone.map(({ served }) => streamOf(served)),
  )
  await tx.streamNodes.put(
    node,
    put.map(({ served, viewing }) => ({ ...streamOf(served), ...viewing })),
  )
}

/** The oldest goes when there are too many. */
function keepNewest<T>(map: Map<string, T>, key: string, value: T): void {
  const [oldest] = map.size >= WAITING_MAX ? map.keys() : []
  if (oldest !== undefined) map.delete(oldest)
  map.set(key, value)
}
