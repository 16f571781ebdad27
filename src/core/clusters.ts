import { Type } from 'typebox'
import type { Result } from '../base/result.ts'
import { readShape } from './validation/bodyReader.ts'
import { type FieldErrors, Problems } from './validation/problems.ts'

/** Every region: hosted services call the nearest one `auto`. */
export const CLUSTER = 'auto'

/** What a client may choose as the default cluster. */
export const DefaultCluster = Type.Object(
  { defaultCluster: Type.Enum([CLUSTER], { description: 'No region can be the default.' }) },
  { $id: 'DefaultCluster', additionalProperties: false, examples: [{ defaultCluster: CLUSTER }] },
)

/** Parses the choice of the default cluster. No region can be chosen, so it changes nothing. */
export function readDefaultCluster(body: unknown): Result<null, FieldErrors> {
  const problems = new Problems()
  readShape(DefaultCluster, body, problems).value('defaultCluster')
  return problems.settle(null)
}
