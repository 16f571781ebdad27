import { parseAddress } from '../../core/access/address.ts'
import { decide } from '../../core/access/decide.ts'
import type { TokenSnapshot } from '../../core/access/types.ts'
import type { AccountDefaults } from '../../core/tokens/accountDefaults.ts'
import { compileSnapshot } from '../../core/tokens/snapshot.ts'
import type { Token } from '../../core/tokens/types.ts'
import type { SessionAttempt } from '../../store/store.ts'
import type { AccessContext } from '../context.ts'
import type { TokenChangeTx } from './changeToken.ts'

/** Different attempts behind open sessions that one change reads. Sessions beyond them end if no address is free. */
const ATTEMPTS_MAX = 20_000

interface Rebound {
  /** As it is from now on, and locked. */
  readonly token: Token
  readonly account: AccountDefaults
  readonly most: number
}

/**
 * A token that is in use binds addresses from now on: first those of its open sessions at all nodes, the oldest first, as far as its
 * other rules admit them still. Each node then ends its sessions of other addresses, as after any edit.
 */
export async function bindUsers(
  ctx: AccessContext,
  tx: Pick<TokenChangeTx, 'bindings' | 'sessions'>,
  { token, account, most }: Rebound,
): Promise<void> {
  const snapshot = compileSnapshot({ ...token, isActive: true, expiresAtMs: null }, [], [], account)
  const bound = new Set<string>()
  for (const attempt of await tx.sessions.attempts(token, ATTEMPTS_MAX)) {
    if (bound.size === most) break
    if (admits(ctx, snapshot, attempt)) bound.add(attempt.address)
  }
  await tx.bindings.bindFirst(token.id, [...bound], ctx.clock.now())
}

/** What a self-signed token adds has not changed, and each node checks its region itself. */
function admits(
  { policy, clock }: AccessContext,
  token: TokenSnapshot,
  { address, ...attempt }: SessionAttempt,
): boolean {
  const from = parseAddress(address)
  if (from === null) return false
  const request = {
    ...attempt,
    accountId: token.accountId,
    address: from,
    credential: { kind: 'token', token },
    streamIsSecured: true,
  } as const
  return decide(request, { ...policy, region: token.originRegion ?? '' }, clock.now()).allowed
}
