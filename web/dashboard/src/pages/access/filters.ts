import { type PastRange, readPastRange, sinceOf } from '../../parts/pastRange.ts'
import { linkTo, setQuery } from '../../router.ts'

/** What the list shows; every part stands in the address, so that a view can be sent to another person. */
export interface Filters {
  readonly token: number | undefined
  readonly stream: string
  readonly address: string
  readonly outcome: Outcome
  readonly code: string
  readonly range: PastRange
  /** The chosen decision. */
  readonly decision: string
}

export type Outcome = 'all' | 'refused' | 'admitted'

export const OUTCOMES: readonly Outcome[] = ['all', 'refused', 'admitted']

/** Reads the address. Unknown values of an old link count as absent. */
export function readFilters(query: URLSearchParams): Filters {
  const token = query.get('token') ?? ''
  return {
    token: /^\d{1,15}$/.test(token) ? Number(token) : undefined,
    stream: (query.get('stream') ?? '').slice(0, 128),
    address: (query.get('address') ?? '').slice(0, 64),
    outcome: OUTCOMES.find((one) => one === query.get('outcome')) ?? 'all',
    code: query.get('code') ?? '',
    range: readPastRange(query.get('range'), DEFAULT_RANGE),
    decision: query.get('decision') ?? '',
  }
}

/** The address of the page with these filters, as `readFilters` reads it. */
export function linkToAccess({ token, range, outcome, ...texts }: Partial<Filters>): string {
  return linkTo('/access', {
    ...texts,
    token: token === undefined ? undefined : String(token),
    outcome: outcome === 'all' ? undefined : outcome,
    range: range === DEFAULT_RANGE ? undefined : range,
  })
}

const DEFAULT_RANGE: PastRange = 'day'

/** Changes filters. The chosen decision may not be among the new rows, so it is left. */
export const setFilters = (changes: Record<string, string | undefined>): void =>
  setQuery({ decision: undefined, ...changes })

const SUMMARY_HOURS = 720

/** The start of what is counted: the range, or 30 days, as a summary has a bound. */
export const countedFrom = (range: PastRange, nowMs: number): string =>
  sinceOf(range, nowMs) ?? new Date(Math.floor(nowMs / 60_000) * 60_000 - SUMMARY_HOURS * 3_600_000).toISOString()

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
