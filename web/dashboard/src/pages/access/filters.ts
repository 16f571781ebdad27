import { setQuery } from '../../router.ts'

/** What the list shows; every part stands in the address, so that a view can be sent to another person. */
export interface Filters {
  readonly token: number | undefined
  readonly stream: string
  readonly address: string
  readonly outcome: Outcome
  readonly code: string
  readonly range: Range
  /** The chosen decision. */
  readonly decision: string
}

export type Outcome = 'all' | 'refused' | 'admitted'
export type Range = 'hour' | 'day' | 'week' | 'all'

export const RANGES: readonly Range[] = ['hour', 'day', 'week', 'all']
export const OUTCOMES: readonly Outcome[] = ['all', 'refused', 'admitted']

const HOURS: Readonly<Record<Range, number>> = { hour: 1, day: 24, week: 168, all: 0 }

/** Reads the address. Unknown values of an old link count as absent. */
export function readFilters(query: URLSearchParams): Filters {
  const token = query.get('token') ?? ''
  return {
    token: /^\d{1,15}$/.test(token) ? Number(token) : undefined,
    stream: (query.get('stream') ?? '').slice(0, 128),
    address: (query.get('address') ?? '').slice(0, 64),
    outcome: OUTCOMES.find((one) => one === query.get('outcome')) ?? 'all',
    code: query.get('code') ?? '',
    range: RANGES.find((one) => one === query.get('range')) ?? 'day',
    decision: query.get('decision') ?? '',
  }
}

/** Changes filters. The chosen decision may not be among the new rows, so it is left. */
export const setFilters = (changes: Record<string, string | undefined>): void =>
  setQuery({ decision: undefined, ...changes })

const SUMMARY_HOURS = 720

/** The start of what is counted: the range, or 30 days, as a summary has a bound. */
export const countedFrom = (range: Range, nowMs: number): string =>
  fromOf(range, nowMs) ?? new Date(Math.floor(nowMs / 60_000) * 60_000 - SUMMARY_HOURS * 3_600_000).toISOString()

/** The start of a range; undefined: all that is on record. To the minute, so that a reload asks the same. */
export function fromOf(range: Range, nowMs: number): string | undefined {
  const hours = HOURS[range]
  if (hours === 0) return undefined
  return new Date(Math.floor(nowMs / 60_000) * 60_000 - hours * 3_600_000).toISOString()
}

const ADDRESS = /^(\d{1,3}(\.\d{1,3}){3}|[0-9a-f]*:[0-9a-f:.]+)$/i

/** What a person typed into the search: an address, `token 12`, or else the name of a stream. */
export function searchOf(typed: string): Record<'stream' | 'address' | 'token', string | undefined> {
  const text = typed.trim()
  const token = /^(?:token|#)\s*(\d{1,15})$/i.exec(text)?.[1]
  const address = ADDRESS.test(text) ? text : undefined
  return { token, address, stream: token || address || text === '' ? undefined : text }
}

/** The filters as they would be typed. */
export const typedOf = ({ stream, address, token }: Filters): string =>
  address || stream || (token === undefined ? '' : `token ${token}`)
