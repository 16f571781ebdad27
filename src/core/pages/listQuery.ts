import { err, ok, type Result } from '../../base/result.ts'
import type { FieldErrors } from '../errors.ts'
import { LIMIT_DEFAULT, readLimit } from './page.ts'
import { parametersOf } from './parameters.ts'

/** Parses one parameter. The error says what it must be. */
export type ParameterReader<F> = (text: string) => Result<Partial<F>, string>

/** The requested position in a list and the page size. */
export interface QueryPart {
  limit: number
  cursor?: string
}

type Readers<F> = Readonly<Record<string, ParameterReader<F>>>

const POSITION: Readers<QueryPart> = {
  limit: (text) => {
    const read = readLimit(text)
    return read.ok ? ok({ limit: read.value }) : read
  },
  cursor: (cursor) => ok({ cursor }),
}

/** Parses the query of a list: its filters, `limit` and `cursor`, each with one value. All errors at once. */
export function readListQuery<F extends object>(
  query: Record<string, unknown>,
  readers: Readers<F>,
): Result<Partial<F> & QueryPart, FieldErrors> {
  const read = readFilters<object>(query, { ...readers, ...POSITION })
  // Each reader returns only fields of F.
  return read.ok ? ok({ limit: LIMIT_DEFAULT, ...read.value } as Partial<F> & QueryPart) : read
}

/** The same of what is no list: it has filters alone. */
export function readFilters<F extends object>(
  query: Record<string, unknown>,
  readers: Readers<F>,
): Result<Partial<F>, FieldErrors> {
  const errors: FieldErrors = {}
  const filters: Partial<F> = {}
  for (const [name, value] of Object.entries(parametersOf(query, Object.keys(readers)))) {
    const read = typeof value === 'string' ? readers[name]?.(value) : err('may be given once')
    if (read?.ok) Object.assign(filters, read.value)
    else if (read) errors[name] = [read.error]
  }
  return Object.keys(errors).length > 0 ? err(errors) : ok(filters)
}
