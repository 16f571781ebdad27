import { HOUR_MS } from '../../base/time.ts'
import type { Quality } from '../quality/figures.ts'
import {
  addReported,
  AUDIENCE_DIMENSIONS,
  type AudienceDimension,
  type AudienceSlot,
  entryOf,
  type Figures,
  noFigures,
  noParts,
} from './slots.ts'

/** A shorter session is no view. */
const VIEW_MS = 5_000

/** Sites that an hour of an account keeps by name, those with the most views; the rest is one. */
const SITES_MAX = 100
const OTHER_SITES = 'other'

/** One session of a viewer that got media, or whose player reported why it did not. */
export interface WatchedSession {
  readonly accountId: string
  readonly streamName: string
  readonly of: Readonly<Record<AudienceDimension, string>>
  /** Hash of the signed viewer id, or else of the address. */
  readonly viewer: number
  readonly fromMs: number
  /** Its last media; now, while it lasts. */
  readonly untilMs: number
  /** What its player reported, by hour. */
  readonly quality: ReadonlyMap<number, Quality>
}

/** A beginning (1) or an end (-1). */
interface Moment {
  readonly atMs: number
  readonly step: 1 | -1
  readonly gauges: readonly Gauge[]
}

/** Figures, and how many views there are at the moment. */
interface Gauge {
  readonly figures: Figures
  now: number
}

/** The audience of an hour, by account and stream, from all sessions that were open in it. May pause after each of them. */
export function* measureHour(sessions: readonly WatchedSession[], hourMs: number): Generator<void, AudienceSlot[]> {
  const views = sessions.filter(
    ({ fromMs, untilMs }) => untilMs - fromMs >= VIEW_MS && fromMs < hourMs + HOUR_MS && untilMs > hourMs,
  )
  const reported = sessions.filter(({ quality }) => quality.has(hourMs))
  const hour = new Hour(hourMs, largestSites([...new Set([...views, ...reported])]))
  const moments: Moment[] = []
  for (const view of views) {
    moments.push(...hour.add(view))
    yield
  }
  for (const session of reported) {
    hour.addQuality(session)
    yield
  }
  // At the same moment ends come first.
  moments.sort((a, b) => a.atMs - b.atMs || a.step - b.step)
  for (const { step, gauges } of moments) {
    for (const gauge of gauges) move(gauge, step)
    yield
  }
  return hour.slots()
}

function move(gauge: Gauge, step: 1 | -1): void {
  gauge.now += step
  if (gauge.now > gauge.figures.most) gauge.figures.most = gauge.now
}

class Hour {
  readonly #hourMs: number
  readonly #sites: ReadonlySet<string>
  readonly #slots = new Map<string, AudienceSlot>()
  readonly #gauges = new Map<Figures, Gauge>()
  /** What a view counts for, by its account, stream and values: thousands of views share one. */
  readonly #alike = new Map<string, readonly Gauge[]>()

  constructor(hourMs: number, sites: ReadonlySet<string>) {
    this.#hourMs = hourMs
    this.#sites = sites
  }

  add(view: WatchedSession): Moment[] {
    const gauges = this.#gaugesOf(view)
    const fromMs = Math.max(view.fromMs, this.#hourMs)
    const untilMs = Math.min(view.untilMs, this.#hourMs + HOUR_MS)
    for (const { figures } of gauges) {
      if (view.fromMs >= this.#hourMs) figures.views += 1
      figures.watchMs += untilMs - fromMs
      figures.viewers.add(view.viewer)
    }
    return [
      { atMs: fromMs, step: 1, gauges },
      { atMs: untilMs, step: -1, gauges },
    ]
  }

  addQuality(session: WatchedSession): void {
    const quality = session.quality.get(this.#hourMs) ?? null
    for (const { figures } of this.#gaugesOf(session)) addReported(figures, quality)
  }

  slots(): AudienceSlot[] {
    return [...this.#slots.values()]
  }

  #gaugesOf({ accountId, streamName, of }: WatchedSession): readonly Gauge[] {
    const site = this.#sites.has(siteKey(accountId, of.site)) ? of.site : OTHER_SITES
    const values = { ...of, site }
    const key = JSON.stringify([accountId, streamName, ...AUDIENCE_DIMENSIONS.map((dimension) => values[dimension])])
    return entryOf(this.#alike, key, () =>
      ['', streamName].flatMap((name) => {
        const { all, parts } = this.#slotOf(accountId, name)
        const divided = AUDIENCE_DIMENSIONS.map((dimension) => entryOf(parts[dimension], values[dimension], noFigures))
        return [all, ...divided].map((figures) => entryOf(this.#gauges, figures, () => ({ figures, now: 0 })))
      }),
    )
  }

  #slotOf(accountId: string, streamName: string): AudienceSlot {
    return entryOf(this.#slots, JSON.stringify([accountId, streamName]), () => ({
      accountId,
      streamName,
      length: 'hour' as const,
      atMs: this.#hourMs,
      all: noFigures(),
      parts: noParts(),
    }))
  }
}

const siteKey = (accountId: string, site: string): string => `${accountId}/${site}`

function largestSites(views: readonly WatchedSession[]): ReadonlySet<string> {
  const accounts = new Map<string, Map<string, number>>()
  for (const { accountId, of } of views) {
    const counts = entryOf(accounts, accountId, () => new Map<string, number>())
    counts.set(of.site, (counts.get(of.site) ?? 0) + 1)
  }
  const largest = [...accounts].flatMap(([accountId, counts]) =>
    [...counts]
      .toSorted(([, a], [, b]) => b - a)
      .slice(0, SITES_MAX)
      .map(([site]) => siteKey(accountId, site)),
  )
  return new Set(largest)
}
