import { sha256Hex } from '../base/crypto.ts'
import type { Context } from './context.ts'

/** Who holds this API secret? Undefined when nobody does. The value is compared by its SHA-256 only. */
export function authenticateSecret(
  ctx: Pick<Context, 'cache'>,
  presented: string,
): { id: number; accountId: string } | undefined | Promise<{ id: number; accountId: string } | undefined> {
  return ctx.cache.secretByHash(sha256Hex(presented))
}
