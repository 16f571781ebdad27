import { Type, type Static, type TObject, type TSchema } from 'typebox'
import type { Result } from '../../base/result.ts'
import { flagOf, parametersOf, wordOf } from '../pages/parameters.ts'
import { checkPlainText } from '../validation/text.ts'
import { checkCluster } from '../clusters.ts'
import { Problems } from '../validation/problems.ts'
import type { FieldErrors } from '../errors.ts'
import { parseDateTime } from '../validation/moments.ts'
import { ListByClusterQuery, ListByNameQuery, ListQuery } from './requestSchema.ts'
import type { TokenState } from './types.ts'
import { allowed, readShape, type BodyReader } from '../validation/bodyReader.ts'

/** The requested page and order. `page` counts from 1. */
export interface ListRequest {
  sortBy: 'Name' | 'AddedOn' | 'LastUsedOn'
  page: number
  itemsOnPage: number
  descending: boolean
  state?: TokenState
  /** Epoch milliseconds. */
  expiresBeforeMs?: number
  /** The records do not show the values of the tokens. */
  withoutValues?: true
}

export interface ListByNameRequest extends ListRequest {
  name: string
  /** `None` of the API means `TokenOrStreamName`. */
  filterBy: 'TokenName' | 'StreamName' | 'TokenOrStreamName'
}

/** Parses the query of a list, as a URL parser left it. */
export function readTokenListQuery(query: Record<string, unknown>): Result<ListRequest, FieldErrors> {
  const problems = new Problems()
  return problems.settle(readList(readQuery(ListQuery, query, problems)))
}

export interface ListByClusterRequest extends ListRequest {
  /** A region, or `auto`. */
  cluster: string
}

/** The same with `cluster`. @param regions those that there are */
export function readListByClusterQuery(
  query: Record<string, unknown>,
  regions: readonly string[],
): Result<ListByClusterRequest, FieldErrors> {
  const problems = new Problems()
  const reader = readQuery(ListByClusterQuery, query, problems)
  checkCluster(reader, 'cluster', regions)
  return problems.settle({ ...readList(reader), cluster: reader.value('cluster') ?? '' })
}

/** The same with `name` and `filterBy`. */
export function readListByNameQuery(query: Record<string, unknown>): Result<ListByNameRequest, FieldErrors> {
  const problems = new Problems()
  const reader = readQuery(ListByNameQuery, query, problems)
  const name = reader.value('name') ?? ''
  checkPlainText('name', name, problems)
  return problems.settle({ ...readList(reader), name, filterBy: filterOf(reader) })
}

function readList(query: BodyReader<Static<typeof ListQuery>>): ListRequest {
  const state = query.value('state')
  const expiresBeforeMs = readExpiresBefore(query)
  return {
    sortBy: query.value('sortBy') ?? 'Name',
    page: query.value('page') ?? 1,
    itemsOnPage: query.value('itemsOnPage') ?? 20,
    descending: query.value('isDescending') ?? false,
    ...(state === undefined ? {} : { state }),
    ...(expiresBeforeMs === undefined ? {} : { expiresBeforeMs }),
    ...(query.value('includeValue') === false ? { withoutValues: true } : {}),
  }
}

function readExpiresBefore(query: BodyReader<Static<typeof ListQuery>>): number | undefined {
  const text = query.value('expiresBefore')
  const ms = text === undefined ? undefined : parseDateTime(text)
  if (ms === null) query.problems.add('expiresBefore', 'must be a time that exists, like 2026-01-31T12:00:00Z')
  return ms ?? undefined
}

function filterOf(query: BodyReader<Static<typeof ListByNameQuery>>): ListByNameRequest['filterBy'] {
  const filter = query.value('filterBy')
  return filter === undefined || filter === 'None' ? 'TokenOrStreamName' : filter
}

/** Parses the text of a query by a schema. Errors are added to `problems`; unknown parameters are ignored. */
export function readQuery<S extends TObject>(schema: S, query: Record<string, unknown>, problems: Problems) {
  const typed: [string, unknown][] = []
  for (const [name, value] of Object.entries(parametersOf(query, Object.keys(schema.properties)))) {
    const property = schema.properties[name] ?? {}
    if (Array.isArray(value)) problems.add(name, `must be sent once, and be ${allowed(property)}`)
    typed.push([name, typeof value === 'string' ? fromText(property, value) : value])
  }
  return readShape(schema, Object.fromEntries(typed), problems)
}

/**
 * The number, boolean or word that the text means where the schema wants one; otherwise the text, which the schema
 * then refuses.
 */
function fromText(schema: TSchema, text: string): unknown {
  if (Type.IsInteger(schema) && /^[1-9]\d{0,9}$/.test(text)) return Number(text)
  if (Type.IsBoolean(schema)) return flagOf(text) ?? text
  const words = 'enum' in schema && Array.isArray(schema.enum) ? (schema.enum as string[]) : []
  return wordOf(words, text) ?? text
}
