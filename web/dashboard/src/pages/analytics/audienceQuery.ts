import type { Span } from './range.ts'

/** What the figures can be divided and filtered by, in the order of the choices. */
const DIVISIONS = ['streamName', 'country', 'site', 'protocol', 'device', 'browser'] as const
export type Division = (typeof DIVISIONS)[number]

/** A question of the page, as the report takes it. */
export interface AudienceQuery extends Partial<Record<Exclude<Division, 'protocol'>, string>> {
  readonly protocol?: 'whep' | 'hls'
  readonly startDate: string
  /** Exclusive. */
  readonly stopDate: string
  readonly timeZone: string
  readonly resolution: 'Hour' | 'Day'
  readonly by: Division
}

const DAYS: Readonly<Record<Exclude<Span, 'own'>, number>> = { today: 1, week: 7, month: 28 }
const DATE = /^\d{4}-\d{2}-\d{2}$/

/** The filters that an address names: a stream, and one of the others. */
export function filtersOf(query: URLSearchParams): readonly (readonly [Division, string])[] {
  const given = DIVISIONS.flatMap((one) => {
    const value = query.get(one)
    const isKnown = one !== 'protocol' || value === 'whep' || value === 'hls'
    return value === null || value === '' || !isKnown ? [] : [[one, value] as const]
  })
  const other = given.find(([one]) => one !== 'streamName')
  return given.filter((filter) => filter[0] === 'streamName' || filter === other)
}

/** The divisions that the report has beside these filters. */
export function divisionsBeside(filters: readonly (readonly [Division, string])[]): readonly Division[] {
  const isOfStream = filters.some(([one]) => one === 'streamName')
  const isOther = filters.some(([one]) => one !== 'streamName')
  return DIVISIONS.filter((one) => (one === 'streamName' ? !isOfStream : !isOther))
}

/** The question that an address means on a day of the reader's calendar. */
export function audienceQueryOf(span: Span, query: URLSearchParams, now: Date, timeZone: string): AudienceQuery {
  const today = dayOf(now, timeZone)
  const own = (name: string): string => (DATE.test(query.get(name) ?? '') ? (query.get(name) ?? today) : today)
  const last = span === 'own' ? own('to') : today
  const first = span === 'own' ? own('from') : plus(today, 1 - DAYS[span])
  const startDate = first < last ? first : last
  const filters = filtersOf(query)
  const divisions = divisionsBeside(filters)
  const by = divisions.find((one) => one === query.get('by')) ?? divisions[0] ?? 'country'
  const resolution = startDate === last ? 'Hour' : 'Day'
  return { startDate, stopDate: plus(last, 1), timeZone, resolution, by, ...Object.fromEntries(filters) }
}

/** As `2026-01-31`, which is how Sweden writes a day. */
const dayOf = (now: Date, timeZone: string): string => new Intl.DateTimeFormat('sv-SE', { timeZone }).format(now)

const plus = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10)

/** How much a figure has changed, such as `+12 %`; empty without a figure before. */
export function changeOf(now: number, before: number, locale: string): string {
  if (before === 0) return ''
  return new Intl.NumberFormat(locale, {
    style: 'percent',
    signDisplay: 'exceptZero',
    maximumFractionDigits: 0,
  }).format((now - before) / before)
}
