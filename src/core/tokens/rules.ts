/**
 * The public functions of this folder: they validate requests and compute the rules of publish and subscribe tokens.
 */
export { type Revocation, readDisable, readRevoke } from './actions.ts'
export { type NewToken, readTokenCreate } from './create.ts'
export {
  type ListByNameRequest,
  type ListRequest,
  readListByClusterQuery,
  readListByNameQuery,
  readTokenListQuery as readListQuery,
} from './listQuery.ts'
export { applyPatch, type PatchedToken, type Rebind, rulesOf } from './patch.ts'
export type { FieldErrors } from '../validation/problems.ts'
export {
  type ListedTokenRecord,
  ownFields,
  toListedRecord,
  type TokenRecord,
  toTokenRecord,
  withDefaults,
} from './record.ts'
export { refuseTargets } from './restream.ts'
export { readSign, type SignRequest } from './sign.ts'
export { readPatternTest, type PatternTest } from './patternTest.ts'
export { readTokenUpdate } from './update.ts'
