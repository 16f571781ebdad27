import { err, ok, type Result } from '../../base/result.ts'
import type { FieldErrors } from '../errors.ts'
import { readLimit } from './page.ts'

/** Reads one parameter. The error says what it must be. */
export type ParameterReader<F> = (text: string) => Result<Partial<F>, string>

/** Where in a list, and how much of it. */
export interface Part {
  limit: number
  cursor?: string
}

/** Reads the query of a list: its filters, `limit` and `cursor`, each at most once; all errors at once. */
export function readListQuery<F extends object>(
  query: Record<string, unknown>,
  readers: Readonly<Record<string, ParameterReader<F>>>,
): Result<Partial<F> & Part, FieldErrors> {
  const errors: FieldErrors = {}
  const read: Part = { limit: 20 }
  for (const [name, value] of Object.entries(query)) {
    const part = readParameter(name, value, readers)
    if (part.ok) Object.assign(read, part.value)
    else errors[name.slice(0, 64)] = [part.error]
  }
  // Each reader gives fields of F only.
  return Object.keys(errors).length > 0 ? err(errors) : ok(read as Partial<F> & Part)
}

function readParameter<F>(
  name: string,
  value: unknown,
  readers: Readonly<Record<string, ParameterReader<F>>>,
): Result<object, string> {
  if (typeof value !== 'string') return err('may be given once')
  if (name === 'cursor') return ok({ cursor: value })
  if (name === 'limit') return limitOf(value)
  const reader = Object.hasOwn(readers, name) ? readers[name] : undefined
  const names = [...Object.keys(readers), 'limit', 'cursor'].join(', ')
  return reader ? reader(value) : err(`is not a parameter of this list; allowed: ${names}`)
}

function limitOf(text: string): Result<{ limit: number }, string> {
  const limit = readLimit(text)
  return limit.ok ? ok({ limit: limit.value }) : limit
}
