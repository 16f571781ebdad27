import { daysOf, plus, type Span } from './range.ts'

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
  /** Absent: the report has no division beside these filters, or not for so many days. */
  readonly by?: Division
}

/** As the report has it: what is divided beside a filter is read by the hour. */
const FILTERED_DAYS_MAX = 31
const DAY_MS = 86_400_000

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

type Filters = ReturnType<typeof filtersOf>

const isOfStream = (filters: Filters): boolean => filters.some(([one]) => one === 'streamName')
const isOther = (filters: Filters): boolean => filters.some(([one]) => one !== 'streamName')

/** The divisions that the report has beside these filters. */
export const divisionsBeside = (filters: Filters): readonly Division[] =>
  DIVISIONS.filter((one) => (one === 'streamName' ? !isOfStream(filters) : !isOther(filters)))

/** The question that an address means on a day of the reader's calendar. */
export function audienceQueryOf(span: Span, query: URLSearchParams, now: Date, timeZone: string): AudienceQuery {
  const { first, last } = daysOf(span, query, now, timeZone)
  const stopDate = plus(last, 1)
  const filters = filtersOf(query)
  const days = (Date.parse(stopDate) - Date.parse(first)) / DAY_MS
  const divisions = isOther(filters) && days > FILTERED_DAYS_MAX ? [] : divisionsBeside(filters)
  const by = divisions.find((one) => one === query.get('by')) ?? divisions[0]
  const resolution = first === last ? 'Hour' : 'Day'
  const asked = { startDate: first, stopDate, timeZone, resolution, ...Object.fromEntries(filters) } as const
  return by === undefined ? asked : { ...asked, by }
}

/** How much a figure has changed, such as `+12 %`; empty without a figure before. */
export function changeOf(now: number, before: number, locale: string): string {
  if (before === 0) return ''
  return new Intl.NumberFormat(locale, {
    style: 'percent',
    signDisplay: 'exceptZero',
    maximumFractionDigits: 0,
  }).format((now - before) / before)
}
