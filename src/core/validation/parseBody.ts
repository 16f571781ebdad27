import type { Static, TObject } from 'typebox'
import type { Result } from '../../base/result.ts'
import { readShape } from './bodyReader.ts'
import { Problems } from './problems.ts'
import type { FieldErrors } from '../errors.ts'

/** The body of a request whose rules a schema can say, or every wrong field of it. */
export function parseBody<S extends TObject>(schema: S, body: unknown): Result<Static<S>, FieldErrors> {
  const problems = new Problems()
  readShape(schema, body, problems)
  return problems.settle(body as Static<S>)
}
