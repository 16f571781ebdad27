import { err, ok, type Result } from '../../base/result.ts'
import { readLimit } from '../page/page.ts'
import { Problems } from '../tokens/problems.ts'
import { type LiveFailure, refusal, validationFailed } from './errors.ts'
import { LIVE_STATUSES, type LiveStatus } from './types.ts'

/** What every list of the live interface is asked with. */
export interface PageRequest {
  limit: number
  cursor: string | undefined
}

/** Reads one filter from its text. The error is ready to follow its name. */
type Reader<T> = (text: string) => Result<T, string>

type Readers<F> = { [name in keyof F]-?: Reader<NonNullable<F[name]>> }

/** Reads the query of a list with these filters; all errors at once. */
export function readPageQuery<F extends object>(
  query: Record<string, unknown>,
  readers: Readers<F>,
): Result<PageRequest & { filters: Partial<F> }, LiveFailure> {
  const problems = new Problems()
  const { limit: limitText, cursor, ...others } = query
  const limit = readLimit(limitText)
  if (!limit.ok) return err(refusal('invalid_limit', limit.error))
  if (cursor !== undefined && typeof cursor !== 'string') problems.add('cursor', 'may be given once')
  const filters: Partial<F> = {}
  for (const [name, value] of Object.entries(others)) {
    const read = Object.hasOwn(readers, name) ? readers[name as keyof F] : undefined
    if (!read) problems.add(name, () => `is not a parameter of this list; allowed: ${allowed(readers)}`)
    else if (typeof value !== 'string') problems.add(name, 'may be given once')
    else keep(filters, name as keyof F, read(value), problems)
  }
  const settled = problems.settle({ limit: limit.value, cursor: cursor as string | undefined, filters })
  return settled.ok ? settled : err(validationFailed(settled.error))
}

/** The same for a list without filters. */
export const readPlainQuery = (query: Record<string, unknown>): Result<PageRequest, LiveFailure> =>
  readPageQuery(query, {})

function keep<F extends object, K extends keyof F>(
  filters: Partial<F>,
  name: K,
  read: Result<NonNullable<F[K]>, string>,
  problems: Problems,
): void {
  if (read.ok) filters[name] = read.value
  else problems.add(String(name), read.error)
}

const allowed = (readers: object): string => ['limit', 'cursor', ...Object.keys(readers)].join(', ')

export interface ChannelFilters {
  name: string
  search: string
  status: readonly LiveStatus[]
  id: readonly string[]
  externalId: string
}

const IDS_MAX = 100
const TEXT_MAX = 256

const plain: Reader<string> = (text) => {
  if (text === '' || text.length > TEXT_MAX) return err(`must be 1 to ${TEXT_MAX} characters`)
  return text.includes('\0') || !text.isWellFormed() ? err('must be plain text') : ok(text)
}

const ids: Reader<readonly string[]> = (text) => {
  const list = [...new Set(text.split(','))]
  const sound = list.length <= IDS_MAX && list.every((id) => /^\w{1,64}$/.test(id))
  return sound ? ok(list) : err(`must be 1 to ${IDS_MAX} ids, separated by commas`)
}

const statuses: Reader<readonly LiveStatus[]> = (text) => {
  const named = new Set(text.split(','))
  const known = LIVE_STATUSES.filter((status) => named.has(status))
  return known.length === named.size
    ? ok(known)
    : err(`must be out of ${LIVE_STATUSES.join(', ')}, separated by commas`)
}

/** Reads the query of the list of channels. */
export const readChannelQuery = (query: Record<string, unknown>) =>
  readPageQuery<ChannelFilters>(query, { name: plain, search: plain, status: statuses, id: ids, externalId: plain })
