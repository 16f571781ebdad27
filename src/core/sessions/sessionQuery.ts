import { isObject } from '../../base/objects.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { CONNECTION_FILTERS } from '../access/logQuery.ts'
import { PROTOCOLS } from '../access/protocols.ts'
import { checkStreamName } from '../access/streamName.ts'
import type { FieldErrors } from '../errors.ts'
import { readListQuery, type ParameterReader, type QueryPart } from '../pages/listQuery.ts'
import { parametersOf, wordOf } from '../pages/parameters.ts'
import { Problems } from '../validation/problems.ts'

export interface SessionFilter {
  tokenId?: number
  streamName?: string
  address?: string
  protocol?: string
  action?: string
}

export const ACTIONS = ['publish', 'view', 'preview'] as const

const READERS: Readonly<Record<string, ParameterReader<SessionFilter>>> = {
  ...CONNECTION_FILTERS,
  protocol: (text) => oneOf(PROTOCOLS, text, (protocol) => ({ protocol })),
  action: (text) => oneOf(ACTIONS, text, (action) => ({ action })),
}

function oneOf<T>(allowed: readonly string[], text: string, make: (word: string) => T): Result<T, string> {
  const word = wordOf(allowed, text)
  return word === undefined ? err(`must be one of ${allowed.join(', ')}`) : ok(make(word))
}

/** Parses the query of `GET /api/sessions` and reports all errors at once. */
export const readSessionQuery = (query: Record<string, unknown>): Result<SessionFilter & QueryPart, FieldErrors> =>
  readListQuery(query, READERS)

/** Parses `{streamId: "accountId/streamName"}`. */
export function readStreamStop(body: unknown): Result<{ accountId: string; streamName: string }, FieldErrors> {
  if (!isObject(body)) return err({ body: ['must be a JSON object with streamId'] })
  const { streamId, ...unknown } = body
  const problems = new Problems()
  refuseUnknown(unknown, 'streamId', problems)
  const stream = readStreamId(streamId)
  if (!stream.ok) problems.add('streamId', stream.error)
  return problems.settle(stream.ok ? stream.value : { accountId: '', streamName: '' })
}

/** Parses `{tokenId, updatePriority}`; both are required, and null is the lowest priority. */
export function readReprioritize(body: unknown): Result<{ tokenId: number; priority: number | null }, FieldErrors> {
  if (!isObject(body)) return err({ body: ['must be a JSON object with tokenId and updatePriority'] })
  const { tokenId, updatePriority: priority, ...unknown } = body
  const problems = new Problems()
  refuseUnknown(unknown, 'tokenId, updatePriority', problems)
  if (!isInteger(tokenId, 1, Number.MAX_SAFE_INTEGER)) problems.add('tokenId', 'is required, as a whole number')
  if (priority !== null && !isInteger(priority, -INT32_MAX - 1, INT32_MAX))
    problems.add('updatePriority', `is required, as null or a whole number from ${-INT32_MAX - 1} to ${INT32_MAX}`)
  return problems.settle({ tokenId, priority } as { tokenId: number; priority: number | null })
}

function refuseUnknown(unknown: object, allowed: string, problems: Problems): void {
  for (const name of Object.keys(unknown)) problems.add(name, `is not a property of this request; allowed: ${allowed}`)
}

const INT32_MAX = 2_147_483_647

const isInteger = (value: unknown, least: number, most: number): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most

/** Parses `?streamId=accountId/streamName`. */
export function readStreamQuery(
  query: Record<string, unknown>,
): Result<{ accountId: string; streamName: string }, FieldErrors> {
  const { streamId } = parametersOf(query, ['streamId'])
  const stream = Array.isArray(streamId) ? err('may be given once') : readStreamId(streamId)
  return stream.ok ? stream : err({ streamId: [stream.error] })
}

function readStreamId(value: unknown): Result<{ accountId: string; streamName: string }, string> {
  const [, accountId, streamName] = typeof value === 'string' ? (/^([^/]{1,64})\/([^]+)$/.exec(value) ?? []) : []
  if (accountId === undefined || streamName === undefined) return err('is required, as accountId/streamName')
  const problem = checkStreamName(streamName)
  return problem === null
    ? ok({ accountId, streamName })
    : err(`must be accountId/streamName, and the stream name ${problem}`)
}
