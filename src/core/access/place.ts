import type { Credential } from './types.ts'

/** Where a request comes from. */
export interface Place {
  /** Canonical text. */
  readonly address: { readonly text: string }
  /** The `Origin` header as sent; null when there was none. */
  readonly origin: string | null
}

/**
 * What the rules of a token see of a place: for two places with the same key they say the same. A token without such
 * rules sees none; for the binding of addresses and for countries the address is what counts.
 */
export function placeKey(credential: Credential, { address, origin }: Place): string {
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
