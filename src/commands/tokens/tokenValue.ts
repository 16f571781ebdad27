import { sha256 } from '../../base/crypto.ts'
import type { AccessContext, CommandContext } from '../context.ts'
import type { StoredToken } from '../../store/store.ts'
import { SEALED_COLUMNS } from '../../core/sealed.ts'
import { type TokenRecord, toTokenRecord, withDefaults } from '../../core/tokens/record.ts'

const { context: CONTEXT } = SEALED_COLUMNS.token

/**
 * A token value with the two forms in which it is stored.
 * @param value 64 lower-case hex characters; by default fresh ones, of 32 random bytes
 */
export function newTokenValue(
  ctx: AccessContext,
  value: string = ctx.random.bytes(32).toString('hex'),
): { value: string; valueHash: Uint8Array; valueSealed: Uint8Array } {
  return { value, valueHash: sha256(value), valueSealed: ctx.sealer.seal(value, CONTEXT) }
}

/** The value of a stored token. Throws when it was sealed with a key that this node does not have. */
export function openTokenValue(ctx: Pick<CommandContext, 'sealer'>, token: Pick<StoredToken, 'valueSealed'>): string {
  const opened = ctx.sealer.open(token.valueSealed, CONTEXT)
  if (!opened.ok) throw new Error(`a token value cannot be opened with this node's sealing key: ${opened.error}`)
  return opened.value.toString('ascii')
}

/**
 * The record of a stored token, with its value. Throws as `openTokenValue` does.
 * @param keys of its targets, which are shown in full then
 */
export function shownToken(
  ctx: Pick<AccessContext, 'sealer' | 'srtPassphrases'>,
  token: StoredToken,
  keys?: readonly string[],
): TokenRecord {
  const value = openTokenValue(ctx, token)
  const [passphrase] = token.displaySrtPassphrase ? ctx.srtPassphrases(value) : []
  return toTokenRecord(token, value, passphrase, keys)
}

/** As `shownToken`, with what its account says for it. */
export async function shownWithDefaults(ctx: AccessContext, token: StoredToken): Promise<TokenRecord> {
  return withDefaults(shownToken(ctx, token), await ctx.cache.accountDefaults(token.accountId))
}
