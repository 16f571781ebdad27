import type { Clock } from '../base/clock.ts'
import type { FeedReading } from '../core/streams/reading.ts'
import type { ActiveFeed, ActiveSession, SessionRegistry } from '../media/sessionRegistry.ts'
import type { StreamCount } from '../media/streamCounts.ts'
import type { FeedReport, Store } from '../store/store.ts'
import { FeedMeter } from './feedMeter.ts'

interface Metered {
  readonly feed: ActiveFeed
  readonly meter: FeedMeter
  /** As last written. */
  written: string
}

/** Feeds that may have ended while the store is unavailable. */
const ENDED_MAX = 10_000

/**
 * Measures the feeds on the air at this node, and writes the readings for other nodes and for the record of past
 * broadcasts. Costs one step for each feed, however many sessions there are.
 */
export class StreamMeter {
  readonly #sessions: SessionRegistry
  readonly #metered = new Map<string, Metered>()
  /** Last reports of feeds that have ended, until they are written. */
  readonly #ended = new Map<string, FeedReport>()

  constructor({ clock, sessions }: { readonly clock: Clock; readonly sessions: SessionRegistry }) {
    this.#sessions = sessions
    sessions.watchFeeds((feed, what) => {
      if (what === 'started') this.#metered.set(feed.feedId, { feed, meter: new FeedMeter(clock), written: '' })
      else this.#end(feed.feedId)
    })
  }

  /** Takes the current totals of every feed. Call it every two seconds. */
  sample(): void {
    for (const { feed, meter } of this.#metered.values()) {
      const entry = this.#sessions.get(feed.sessionId)
      if (entry) meter.sample(entry, this.#countOf(feed))
    }
  }

  /** The reading of a feed of this node; undefined: it is not on the air here. */
  reading(feedId: string): (FeedReading & { readonly mostViewers: number }) | undefined {
    const metered = this.#metered.get(feedId)
    const entry = metered && this.#sessions.get(metered.feed.sessionId)
    if (!metered || !entry) return undefined
    const { mostViewers } = metered.meter
    const reading = this.#readingOf(metered, entry)
    return { ...reading, mostViewers: Math.max(mostViewers, reading.whep + reading.hls) }
  }

  /** Writes the readings that have changed, in one transaction. Call it every few seconds, and when the sessions have ended. */
  async write(store: Store): Promise<void> {
    const changed = [...this.#metered.values()].flatMap((metered) => this.#changeOf(metered))
    const ended = [...this.#ended.values()]
    const reports = [...ended, ...changed.map(({ report }) => report)]
    if (reports.length === 0) return
    await store.transaction((tx) => tx.feeds.report(reports))
    for (const { metered, text } of changed) metered.written = text
    for (const report of ended) if (this.#ended.get(report.feedId) === report) this.#ended.delete(report.feedId)
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
    const reading = JSON.stringify(this.#readingOf(metered, entry))
    return { feedId: feed.feedId, reading, mostViewers: meter.mostViewers, bytesOut: meter.bytesOut }
  }

  #end(feedId: string): void {
    const metered = this.#metered.get(feedId)
    if (!metered) return
    this.#metered.delete(feedId)
    metered.meter.count(this.#countOf(metered.feed))
    const { mostViewers, bytesOut } = metered.meter
    const [oldest] = this.#ended.size >= ENDED_MAX ? this.#ended.keys() : []
    if (oldest !== undefined) this.#ended.delete(oldest)
    this.#ended.set(feedId, { feedId, reading: null, mostViewers, bytesOut })
  }

  #readingOf({ feed, meter }: Metered, entry: ActiveSession): FeedReading {
    return meter.reading(entry, this.#countOf(feed))
  }

  #countOf({ accountId, streamName }: ActiveFeed): Readonly<StreamCount> | undefined {
    return this.#sessions.streams.of(accountId, streamName)
  }
}
