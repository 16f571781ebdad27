import type { FieldErrors } from '../errors.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { readLimit } from '../page/page.ts'
import { parseAddress } from './address.ts'
import { REFUSALS } from './refusals.ts'

export interface AccessLogFilter {
  tokenId?: number
  streamName?: string
  address?: string
  code?: string
  allowed?: boolean
  fromMs?: number
  untilMs?: number
}

const NAMES = ['tokenId', 'streamName', 'address', 'code', 'allowed', 'from', 'until', 'limit', 'cursor'] as const

type Reader = (text: string) => Result<Partial<AccessLogFilter>, string>

const READERS: Record<Exclude<(typeof NAMES)[number], 'limit' | 'cursor'>, Reader> = {
  tokenId: (text) =>
    /^\d{1,15}$/.test(text) ? ok({ tokenId: Number(text) }) : err('must be a token id, a whole number'),
  streamName: (text) => (text.length <= 256 ? ok({ streamName: text }) : err('must have at most 128 characters')),
  address: (text) => {
    const address = parseAddress(text)
    return address ? ok({ address: address.text }) : err('must be an IPv4 or IPv6 address')
  },
  code: (text) =>
    Object.hasOwn(REFUSALS, text) ? ok({ code: text }) : err(`must be one of ${Object.keys(REFUSALS).join(', ')}`),
  allowed: (text) =>
    text === 'true' || text === 'false' ? ok({ allowed: text === 'true' }) : err('must be true or false'),
  from: (text) => instant(text, (fromMs) => ({ fromMs })),
  until: (text) => instant(text, (untilMs) => ({ untilMs })),
}

/** Reads the query of `GET /api/access/log`; all errors at once. `from` is inclusive, `until` exclusive. */
export function readAccessLogQuery(
  query: Record<string, unknown>,
): Result<AccessLogFilter & { limit: number; cursor?: string }, FieldErrors> {
  const errors: FieldErrors = {}
  const read: AccessLogFilter & { limit: number; cursor?: string } = { limit: 20 }
  for (const [name, value] of Object.entries(query)) {
    if (typeof value !== 'string') errors[name] = ['may be given once']
    else if (name === 'cursor') read.cursor = value
    else if (name === 'limit') assign(errors, read, name, limitOf(value))
    else if (isFilter(name)) assign(errors, read, name, READERS[name](value))
    else errors[name.slice(0, 64)] = [`is not a parameter of this list; allowed: ${NAMES.join(', ')}`]
  }
  return Object.keys(errors).length > 0 ? err(errors) : ok(read)
}

const isFilter = (name: string): name is keyof typeof READERS => Object.hasOwn(READERS, name)

function limitOf(text: string): Result<{ limit: number }, string> {
  const limit = readLimit(text)
  return limit.ok ? ok({ limit: limit.value }) : limit
}

function assign(errors: FieldErrors, target: object, name: string, read: Result<object, string>): void {
  if (read.ok) Object.assign(target, read.value)
  else errors[name] = [read.error]
}

function instant<T>(text: string, make: (ms: number) => T): Result<T, string> {
  const wellFormed = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text)
  const ms = wellFormed ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms)
    ? err('must be a date or an ISO 8601 time with a zone, like 2026-01-31T12:00:00Z')
    : ok(make(ms))
}
