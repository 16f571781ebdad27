import { err, ok, type Result } from '../../base/result.ts'
import { readLimit } from '../pages/page.ts'
import { Problems } from '../validation/problems.ts'
import { type ChannelFailure, refusal, validationFailed } from './errors.ts'
import { ACTIVE_STATUSES, type ActiveStatus } from './types.ts'

/** The parameters of every list of the channels API. */
export interface PageRequest {
  limit: number
  cursor: string | undefined
}

/** Parses one filter. The error is a predicate after the filter's name. */
export type ValueReader<T> = (text: string) => Result<T, string>

type Readers<F> = { [name in keyof F]-?: ValueReader<NonNullable<F[name]>> }

/**
 * Parses parameters and adds errors to `problems`.
 * @param beside parameters that the caller parses
 */
export function readParameters<F extends object>(
  query: Record<string, unknown>,
  readersOf: Partial<Readers<F>>,
  problems: Problems,
  beside: readonly string[] = [],
): Partial<F> {
  const found: Partial<F> = {}
  const allowed = [...beside, ...Object.keys(readersOf)]
  for (const [name, value] of Object.entries(query)) {
    if (beside.includes(name)) continue
    const read = Object.hasOwn(readersOf, name) ? readersOf[name as keyof F] : undefined
    if (!read) problems.add(name, () => `is not a parameter here; allowed: ${allowed.join(', ')}`)
    else if (typeof value !== 'string') problems.add(name, 'may be given once')
    else keep(found, name as keyof F, read(value), problems)
  }
  return found
}

/** Parses the query of a list with these filters. All errors at once. */
export function readPageQuery<F extends object>(
  query: Record<string, unknown>,
  readersOf: Readers<F>,
): Result<PageRequest & { filters: Partial<F> }, ChannelFailure> {
  const problems = new Problems()
  const { limit: limitText, cursor } = query
  const limit = readLimit(limitText)
  if (!limit.ok) return err(refusal('invalid_limit', limit.error))
  if (cursor !== undefined && typeof cursor !== 'string') problems.add('cursor', 'may be given once')
  const filters = readParameters<F>(query, readersOf, problems, ['limit', 'cursor'])
  const settled = problems.settle({ limit: limit.value, cursor: cursor as string | undefined, filters })
  return settled.ok ? settled : err(validationFailed(settled.error))
}

/** The same for a list without filters. */
export const readPlainQuery = (query: Record<string, unknown>): Result<PageRequest, ChannelFailure> =>
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

export interface ChannelFilters {
  name: string
  search: string
  status: readonly ActiveStatus[]
  id: readonly string[]
  externalId: string
}

/** Statuses of hosted services for which clients filter. No channel here ever has one of them. */
const HOSTED_ONLY = ['ready', 'deleting', 'deleted'] as const

const IDS_MAX = 100
const TEXT_MAX = 256

const plain: ValueReader<string> = (text) => {
  if (text === '' || text.length > TEXT_MAX) return err(`must be 1 to ${TEXT_MAX} characters`)
  return text.includes('\0') || !text.isWellFormed() ? err('must be plain text') : ok(text)
}

/** Readers of common kinds of parameters. */
export const readers = {
  ids: ((text) => {
    const list = [...new Set(text.split(','))]
    const isValid = list.length <= IDS_MAX && list.every((id) => /^\w{1,64}$/.test(id))
    return isValid ? ok(list) : err(`must be 1 to ${IDS_MAX} ids, separated by commas`)
  }) satisfies ValueReader<readonly string[]>,
  oneOf:
    <T extends string>(words: readonly T[]): ValueReader<T> =>
    (text) => {
      const found = words.find((word) => word === text)
      return found === undefined ? err(`must be one of ${words.join(', ')}`) : ok(found)
    },
  /** A subset of `words`, in their order. */
  someOf:
    <T extends string>(words: readonly T[]): ValueReader<readonly T[]> =>
    (text) => {
      const named = new Set(text.split(','))
      const known = words.filter((word) => named.has(word))
      return known.length === named.size ? ok(known) : err(`must be out of ${words.join(', ')}, separated by commas`)
    },
}

/** Parses the query of the list of channels. */
export const readChannelQuery = (query: Record<string, unknown>) =>
  readPageQuery<ChannelFilters>(query, {
    name: plain,
    search: plain,
    status: readers.someOf([...ACTIVE_STATUSES, ...HOSTED_ONLY] as readonly ActiveStatus[]),
    id: readers.ids,
    externalId: plain,
  })
