import { constantTimeEqual, sha256 } from '../../base/crypto.ts'
import type { ApiSecret, StoredCredential } from '../../store/store.ts'
import type { AccessContext } from '../context.ts'

type SecretHolder = Pick<ApiSecret, 'id' | 'accountId'>

/** Finds the holder of an API secret; undefined: no secret has this value. The value is compared by its SHA-256 only. */
export async function authenticateSecret(
  ctx: Pick<AccessContext, 'cache' | 'lastUses' | 'clock'>,
  presented: string,
): Promise<SecretHolder | undefined> {
  const found = await ctx.cache.secretByValue(presented)
  if (found) ctx.lastUses.noteHolder('secret', found.id, ctx.clock.now())
  return found
}

/** As `authenticateSecret`, from memory alone; null: only the store can say. */
export function authenticateFromMemory(
  ctx: Pick<AccessContext, 'cache' | 'lastUses' | 'clock'>,
  presented: string,
): SecretHolder | null {
  const found = ctx.cache.peekSecretByValue(presented)
  if (found === 'unknown') return null
  if (found) ctx.lastUses.noteHolder('secret', found.id, ctx.clock.now())
  return found
}

/** The owner of a Basic credential, or undefined. Every call reads the store, so a deleted credential is refused at once. */
export async function authenticateCredential(
  ctx: Pick<AccessContext, 'store' | 'lastUses' | 'clock'>,
  key: string,
  secret: string,
): Promise<Pick<StoredCredential, 'id' | 'accountId' | 'scope'> | undefined> {
  // Keys are short and plain; anything else need not reach the store.
  const found = /^\w{1,64}$/.test(key) ? await ctx.store.read.credentials.findByKey(key) : undefined
  if (!found || !constantTimeEqual(sha256(secret), found.secretHash)) return undefined
  ctx.lastUses.noteHolder('credential', found.id, ctx.clock.now())
  return found
}
