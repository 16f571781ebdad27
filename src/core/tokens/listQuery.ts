import { Type, type Static, type TObject, type TSchema } from 'typebox'
import type { Result } from '../../base/result.ts'
import { flagOf, parametersOf, wordOf } from '../pages/parameters.ts'
import { checkPlainText } from '../validation/canonical.ts'
import { type FieldErrors, Problems } from '../validation/problems.ts'
import { ListByNameQuery, ListQuery } from './requestSchema.ts'
import { allowed, readShape, type BodyReader } from '../validation/bodyReader.ts'

/** The requested page and order. `page` counts from 1. */
export interface ListRequest {
  sortBy: 'Name' | 'AddedOn'
  page: number
  itemsOnPage: number
  descending: boolean
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

/** The same with `name` and `filterBy`. */
export function readListByNameQuery(query: Record<string, unknown>): Result<ListByNameRequest, FieldErrors> {
  const problems = new Problems()
  const reader = readQuery(ListByNameQuery, query, problems)
  const name = reader.value('name') ?? ''
  checkPlainText('name', name, problems)
  return problems.settle({ ...readList(reader), name, filterBy: filterOf(reader) })
}

function readList(query: BodyReader<Static<typeof ListQuery>>): ListRequest {
  return {
    sortBy: query.value('sortBy') ?? 'Name',
    page: query.value('page') ?? 1,
    itemsOnPage: query.value('itemsOnPage') ?? 20,
    descending: query.value('isDescending') ?? false,
  }
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
