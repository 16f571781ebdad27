import { constantTimeEqual, hmac } from '../../base/crypto.ts'
import { looksLikeJwt, parseSelfSigned, type ParsedJwt } from '../../core/access/selfSigned.ts'
import type { Credential } from '../../core/access/types.ts'
import type { CachedToken } from '../../store/cached.ts'
import type { AccessContext } from '../context.ts'
import { looksLikePreviewPass, previewCredential } from './previewPass.ts'

type Cache = AccessContext['cache']

/** Finds what a presented token proves. @throws StoreUnavailable */
export async function resolveCredential(ctx: AccessContext, presented: string | null): Promise<Credential> {
  const { cache } = ctx
  if (looksLikePreviewPass(presented)) return previewCredential(ctx, presented)
  const read = readPresented(presented)
  if (read.kind === 'value') return ofValue(await cache.tokenByValue(read.value))
  if (read.kind === 'selfSigned') return ofSelfSigned(read, await cache.tokenById(read.claims.tokenId))
  return read
}

/** What a client proves that presents the value of this token of the account; null: the account has no such token. */
export async function credentialOfToken(cache: Cache, accountId: string, tokenId: number): Promise<Credential | null> {
  const found = await cache.tokenById(tokenId)
  return found?.snapshot.accountId === accountId ? ofValue(found) : null
}

/** As `resolveCredential`, from memory alone. Null: it needs the store. */
export function credentialFromMemory(cache: Cache, presented: string | null): Credential | null {
  // What the cache holds is well formed, and to look there costs less than to read the text.
  const found = presented?.length === VALUE_LENGTH ? cache.peekTokenByValue(presented) : 'unknown'
  if (found !== 'unknown') return ofValue(found)
  if (looksLikePreviewPass(presented)) return null
  const read = readPresented(presented)
  if (read.kind === 'value') return null
  if (read.kind === 'selfSigned') {
    const parent = cache.peekTokenById(read.claims.tokenId)
    return parent === 'unknown' ? null : ofSelfSigned(read, parent)
  }
  return read
}

type Presented =
  | { readonly kind: 'value'; readonly value: string }
  | ({ readonly kind: 'selfSigned' } & ParsedJwt)
  | Extract<Credential, { kind: 'none' | 'unknown' }>

function readPresented(presented: string | null): Presented {
  if (presented === null || presented === '') return { kind: 'none' }
  if (isTokenValue(presented)) return { kind: 'value', value: presented }
  if (!looksLikeJwt(presented)) return unknown('a token is 64 lower-case hex characters or a JWT')
  const parsed = parseSelfSigned(presented)
  return parsed.ok ? { kind: 'selfSigned', ...parsed.value } : unknown(parsed.error)
}

const VALUE_LENGTH = 64

/** `/^[0-9a-f]{64}$/`, in half of the time. */
function isTokenValue(text: string): boolean {
  if (text.length !== VALUE_LENGTH) return false
  for (let i = 0; i < VALUE_LENGTH; i++) {
    const code = text.charCodeAt(i)
    const isDigit = code >= 0x30 && code <= 0x39
    if (!isDigit && (code < 0x61 || code > 0x66)) return false
  }
  return true
}

const unknown = (why: string) => ({ kind: 'unknown', why }) as const

const ofValue = (found: CachedToken | undefined): Credential =>
  found ? { kind: 'token', token: found.snapshot } : unknown('no token has this value')

/** RFC 7518 section 3.2. */
const DIGESTS = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' } as const

function ofSelfSigned(
  { alg, signingInput, signature, claims }: ParsedJwt,
  parent: CachedToken | undefined,
): Credential {
  if (!parent || parent.snapshot.kind !== 'subscribe') return unknown('the parent token does not exist')
  const digest = hmac(DIGESTS[alg], parent.signingKey(), signingInput)
  if (!constantTimeEqual(digest, signature)) return unknown('the signature is not made with the parent token')
  return { kind: 'selfSigned', token: parent.snapshot, claims }
}
