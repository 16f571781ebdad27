import type { FieldErrors } from '../errors.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { DAY_MS } from '../../base/time.ts'
import { readFilters, readListQuery, type ParameterReader, type QueryPart } from '../pages/listQuery.ts'
import { readFlag, wordOf } from '../pages/parameters.ts'
import { instant } from '../validation/moments.ts'
import { plainTextProblem } from '../validation/text.ts'
import { parseAddress } from './address.ts'
import {
  ENCRYPTION_REFUSALS,
  INVALID_MEDIA,
  INVALID_PARAMETER,
  NODE_REDIRECT,
  REFUSALS,
  SESSION_LIMITS,
  TICKET_SHARED,
} from './refusals.ts'

export interface AccessLogFilter {
  tokenId?: number
  streamName?: string
  address?: string
  code?: string
  allowed?: boolean
  /** Bounds of the time, inclusive and exclusive, epoch milliseconds. */
  fromMs?: number
  untilMs?: number
}

/** What a recorded decision was made for: a client that wants in, or a dry run through the API or the command line. */
export const LOG_SOURCES = ['admission', 'check'] as const
export type LogSource = (typeof LOG_SOURCES)[number]

type Reader = ParameterReader<AccessLogFilter>

/** All reasons of recorded refusals. A viewer who waits for a publisher is not refused access, and asks every few seconds. */
export const LOGGED_CODES: readonly string[] = [
  ...Object.keys(REFUSALS).filter((code) => code !== 'stream_not_published'),
  ...Object.keys(ENCRYPTION_REFUSALS),
  ...Object.keys(SESSION_LIMITS),
  NODE_REDIRECT.code,
  TICKET_SHARED.code,
  INVALID_PARAMETER,
  INVALID_MEDIA,
]

/** The filters that all lists of connections have. */
export const CONNECTION_FILTERS = {
  tokenId: (text) =>
    /^\d{1,15}$/.test(text) ? ok({ tokenId: Number(text) }) : err('must be a token id, a whole number'),
  streamName: (text) => {
    // Refused names are longer than those that streams can have.
    const problem = text.length <= 256 ? plainTextProblem(text) : 'must have at most 256 characters'
    return problem === null ? ok({ streamName: text }) : err(problem)
  },
  address: (text) => {
    const address = parseAddress(text)
    return address ? ok({ address: address.text }) : err('must be an IPv4 or IPv6 address')
  },
} satisfies Record<string, Reader>

const READERS: Readonly<Record<string, Reader>> = {
  ...CONNECTION_FILTERS,
  code: (text) => {
    const code = wordOf(LOGGED_CODES, text)
    return code === undefined ? err(`must be one of ${LOGGED_CODES.join(', ')}`) : ok({ code })
  },
  allowed: (text) => {
    const read = readFlag(text)
    return read.ok ? ok({ allowed: read.value }) : read
  },
  from: (text) => parseInstant(text, (fromMs) => ({ fromMs })),
  until: (text) => parseInstant(text, (untilMs) => ({ untilMs })),
}

/** Parses the query of `GET /api/access/log` and reports all errors at once. `from` is inclusive, `until` exclusive. */
export const readAccessLogQuery = (query: Record<string, unknown>): Result<AccessLogFilter & QueryPart, FieldErrors> =>
  readListQuery(query, READERS)

/** The most time that a summary covers. */
const SUMMARY_MAX_MS = 31 * DAY_MS

/** What `GET /api/access/summary` counts. */
export interface AccessSummaryQuery {
  fromMs: number
  untilMs: number
  source?: LogSource
}

type SummaryReader = ParameterReader<AccessSummaryQuery>

const SUMMARY_READERS: Readonly<Record<string, SummaryReader>> = {
  from: (text) => parseInstant(text, (fromMs) => ({ fromMs })),
  until: (text) => parseInstant(text, (untilMs) => ({ untilMs })),
  source: (text) => {
    const source = wordOf(LOG_SOURCES, text)
    return source === undefined ? err(`must be ${LOG_SOURCES.join(' or ')}`) : ok({ source })
  },
}

/** Parses the query of `GET /api/access/summary`: by default the last 24 hours. */
export function readAccessSummaryQuery(
  query: Record<string, unknown>,
  nowMs: number,
): Result<AccessSummaryQuery, FieldErrors> {
  const read = readFilters(query, SUMMARY_READERS)
  if (!read.ok) return read
  // `until` is exclusive, and a decision of this millisecond counts.
  const { untilMs = nowMs + 1, fromMs = untilMs - DAY_MS, source } = read.value
  if (fromMs > untilMs) return err({ from: ['must not be after until'] })
  if (untilMs - fromMs > SUMMARY_MAX_MS) return err({ from: ['must be at most 31 days before until'] })
  return ok({ fromMs, untilMs, ...(source ? { source } : {}) })
}

/** As `instant`, for a field of a query. */
export function parseInstant<T>(text: string, make: (ms: number) => T): Result<T, string> {
  const read = instant(text)
  return read.ok ? ok(make(read.value)) : read
}
