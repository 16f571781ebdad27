/** The rules of publish and subscribe tokens: what may be asked for, and what comes of it. The door to this room. */
export { type Revocation, readDisable, readRevoke } from './actions.ts'
export { type NewToken, readCreate } from './create.ts'
export { type ListByNameRequest, type ListRequest, readListByNameQuery, readListQuery } from './listQuery.ts'
export { applyPatch, type PatchedToken, type Rebind, rulesOf } from './patch.ts'
export type { FieldErrors } from './problems.ts'
export { ownFields, type TokenRecord, toRecord } from './record.ts'
export { readUpdate } from './update.ts'
