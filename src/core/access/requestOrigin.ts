import type { Address } from './address.ts'
import type { Credential } from './types.ts'

/** Where a request comes from. */
export interface RequestOrigin {
  readonly address: Address
  /** The `Origin` header as sent; null when there was none. */
  readonly origin: string | null
  /** As sent; no rule reads it. */
  readonly userAgent?: string | undefined
}

/**
 * Identifies what the rules of a token read of an address and origin: two with the same key get the same answer. A token
 * without such rules has one key for all. Binding and country rules read the address.
 */
export function originKey(credential: Credential, { address, origin }: RequestOrigin): string {
  if (credential.kind !== 'token' && credential.kind !== 'selfSigned') return ''
  const { token } = credential
  const claims = credential.kind === 'selfSigned' ? credential.claims : null
  const seesAddress =
    token.bindLimit > 0 ||
    token.addresses.length > 0 ||
    token.allowedCountries.size > 0 ||
    token.deniedCountries.size > 0 ||
    (claims?.addresses.length ?? 0) > 0
  const seesOrigin = token.origins.length > 0 || (claims?.origins.length ?? 0) > 0
  return `${seesAddress ? address.text : ''} ${seesOrigin ? (origin ?? '') : ''}`
}
