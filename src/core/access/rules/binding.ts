import type { DecisionEffects } from '../types.ts'
import { fail, pass, skip, type Question, type Verdict } from './verdict.ts'

const SKIP = skip('binding', 'the token does not bind addresses')
const BOUND = pass('binding', 'the address is bound to the token')
const FREE = pass('binding', 'the address can still be bound to the token')

const NO_EFFECTS: DecisionEffects = { bind: null, stamp: null }

/** The last rule, so that an address is bound only after all others have passed. */
export function checkBinding({ request, token }: Question): Verdict {
  if (token.bindLimit === 0) return SKIP
  if (token.boundAddresses.has(request.address.text)) return BOUND
  if (token.boundAddresses.size < token.bindLimit) return FREE
  const detail = `${request.address.text} is not bound and all ${token.bindLimit} places are taken`
  return fail('binding', 'address_not_allowed', detail)
}

/**
 * The writes of an admission. The set of bound addresses may be stale, so `bind` is only a request: the store binds
 * the address or refuses, in one conditional write.
 */
export function bindingEffects({ request, token }: Question): DecisionEffects {
  if (token.bindLimit === 0) return NO_EFFECTS
  const address = request.address.text
  if (token.boundAddresses.has(address)) return { bind: null, stamp: { tokenId: token.id, address } }
  return { bind: { tokenId: token.id, version: token.version, address, limit: token.bindLimit }, stamp: null }
}
