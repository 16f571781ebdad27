import { Type } from 'typebox'
import type { Result } from '../../base/result.ts'
import type { FieldErrors } from '../errors.ts'
import { Problems } from './problems.ts'
import { readShape } from './bodyReader.ts'

const Nothing = Type.Object({}, { additionalProperties: false })

/** Parses the body of a request that takes none: nothing, or an empty object, which some clients always send. */
export function readNoBody(body: unknown): Result<null, FieldErrors> {
  const problems = new Problems()
  readShape(Nothing, body ?? {}, problems)
  return problems.settle(null)
}
