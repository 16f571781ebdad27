import type { Token } from '../../core/tokens/types.ts'
import type { StoredToken } from '../../store/store.ts'

/** A token in an audit row: the stored record without the value in any form. */
export function auditView(token: StoredToken): Token {
  const { valueHash: _hash, valueSealed: _sealed, ...shown } = token
  return shown
}
