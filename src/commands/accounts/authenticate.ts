import { constantTimeEqual, sha256 } from '../../base/crypto.ts'
import type { StoredCredential } from '../../store/store.ts'
import type { Context } from '../context.ts'

/** Who holds this API secret? Undefined when nobody does. The value is compared by its SHA-256 only. */
export function authenticateSecret(
  ctx: Pick<Context, 'cache'>,
  presented: string,
): { id: number; accountId: string } | undefined | Promise<{ id: number; accountId: string } | undefined> {
  return ctx.cache.secretByValue(presented)
}

/** Whose Basic credential is this? Undefined when nobody's. It is looked up each time, so a deleted one is refused at once. */
export async function authenticateCredential(
  ctx: Pick<Context, 'store'>,
  key: string,
  secret: string,
): Promise<Pick<StoredCredential, 'id' | 'accountId' | 'scope'> | undefined> {
  // Keys are short and plain; anything else need not reach the store.
  const found = /^\w{1,64}$/.test(key) ? await ctx.store.read.credentials.findByKey(key) : undefined
  return found && constantTimeEqual(sha256(secret), found.secretHash) ? found : undefined
}
