import type { Token } from '../../core/tokens/types.ts'
import type { StoredToken } from '../../store/store.ts'

/** What an audit row shows of a token: the record as stored, without the value in any form. */
export function auditView(token: StoredToken): Token {
  const { valueHash: _hash, valueSealed: _sealed, ...shown } = token
  return shown
}
