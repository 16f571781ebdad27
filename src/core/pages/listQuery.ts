import { err, ok, type Result } from '../../base/result.ts'
import type { FieldErrors } from '../errors.ts'
import { readLimit } from './page.ts'
import { parametersOf } from './parameters.ts'

/** Parses one parameter. The error says what it must be. */
export type ParameterReader<F> = (text: string) => Result<Partial<F>, string>

/** The requested position in a list and the page size. */
export interface QueryPart {
  limit: number
  cursor?: string
}

/** Parses the query of a list: its filters, `limit` and `cursor`, each with one value. All errors at once. */
export function readListQuery<F extends object>(
  query: Record<string, unknown>,
  readers: Readonly<Record<string, ParameterReader<F>>>,
): Result<Partial<F> & QueryPart, FieldErrors> {
  const errors: FieldErrors = {}
  const read: QueryPart = { limit: 20 }
  const given = parametersOf(query, [...Object.keys(readers), 'limit', 'cursor'])
  for (const [name, value] of Object.entries(given)) {
    const part = typeof value === 'string' ? readParameter(name, value, readers) : err('may be given once')
    if (part.ok) Object.assign(read, part.value)
    else errors[name] = [part.error]
  }
  // Each reader returns only fields of F.
  return Object.keys(errors).length > 0 ? err(errors) : ok(read as Partial<F> & QueryPart)
}

function readParameter<F>(
  name: string,
  value: string,
  readers: Readonly<Record<string, ParameterReader<F>>>,
): Result<object, string> {
  if (name === 'limit') return limitOf(value)
  return readers[name]?.(value) ?? ok({ cursor: value })
}

function limitOf(text: string): Result<{ limit: number }, string> {
  const limit = readLimit(text)
  return limit.ok ? ok({ limit: limit.value }) : limit
}
