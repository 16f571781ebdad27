/** 32 bytes in base64url (RFC 4648 section 5) without padding. */
const SHORT_TOKEN = /^[\w-]{43}$/

/** The token in the query of an address: `token`, or else `t`: the same value, or its bytes in base64url. */
export function presentedToken(query: URLSearchParams): string | null {
  const token = query.get('token')
  const short = query.get('t')
  if (token !== null || short === null) return token
  return SHORT_TOKEN.test(short) ? Buffer.from(short, 'base64url').toString('hex') : short
}
