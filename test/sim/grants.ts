import { type AccessContext, cliActor } from '../../src/commands/context.ts'
import { createToken } from '../../src/commands/tokens/createToken.ts'
import { deleteToken } from '../../src/commands/tokens/deleteToken.ts'
import { updateToken } from '../../src/commands/tokens/updateToken.ts'
import type { TokenKind } from '../../src/core/tokens/types.ts'
import type { WorldTime } from './clock.ts'

/** A token by one of its values. A refreshed token has another one. */
export interface Grant {
  readonly kind: TokenKind
  readonly id: number
  readonly value: string
  readonly maxViewers: number | null
  readonly maxAddresses: number | null
  /** Of its publishers; null: the lowest. */
  readonly priority: number | null
  /** Viewers of its feeds need a token. */
  readonly isSecured: boolean
  /** Its feeds are sent on. */
  readonly hasTargets: boolean
  /** `said`: the answer to a deletion or a refresh was received, so that nothing may begin with it any more. */
  revoked: 'no' | 'perhaps' | 'said'
  /** When that was said, true time. */
  revokedAtMs: number
}

interface Rules {
  readonly maxViewers?: number
  readonly bindIpsOnUsage?: number
  readonly priority?: number
  readonly subscribeRequiresAuth?: boolean
  readonly restream?: ReturnType<typeof targetsOf>
}

/** The first targets of a list. */
const targetsOf = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ url: `rtmp://target${at}.example.com/live`, key: `the-key-of-${at}` }))

const STREAMS = [{ streamName: '.*', isRegex: true }]

/**
 * Three tokens of publishers: a plain one, and two whose viewers need tokens, of which one has targets and one comes before the others.
 * And four of viewers: two without limits, one with a limit of viewers, and one with a limit of addresses.
 */
export async function makeGrants(ctx: AccessContext, accountId: string): Promise<Grant[]> {
  const make = async (kind: TokenKind, rules: Rules): Promise<Grant> => {
    const made = await createToken(ctx, cliActor(accountId), kind, { label: kind, streams: STREAMS, ...rules })
    if (!made.ok) throw new Error(JSON.stringify(made.error))
    const { maxViewers = null, bindIpsOnUsage: maxAddresses = null, priority = null } = rules
    const { id, token: value } = made.value
    const [hasTargets, isSecured] = [rules.restream !== undefined, rules.subscribeRequiresAuth === true]
    const limits = { maxViewers, maxAddresses, priority }
    return { kind, id, value, ...limits, hasTargets, isSecured, revoked: 'no', revokedAtMs: Number.POSITIVE_INFINITY }
  }
  return [
    await make('publish', {}),
    await make('publish', { restream: targetsOf(1), subscribeRequiresAuth: true }),
    await make('publish', { priority: 5, subscribeRequiresAuth: true }),
    await make('subscribe', {}),
    await make('subscribe', {}),
    await make('subscribe', { maxViewers: 2 }),
    await make('subscribe', { bindIpsOnUsage: 2 }),
  ]
}

/** Takes a token away, at the time of the world. Returns the grants that follow it. */
type Revoke = (ctx: AccessContext, time: WorldTime, accountId: string, grant: Grant) => Promise<Grant[]>

/** Deletes the token. No grant follows. */
export const deleteGrant: Revoke = async (ctx, time, accountId, grant) => {
  grant.revoked = 'perhaps'
  const done = await deleteToken(ctx, cliActor(accountId), grant.kind, grant.id)
  if (done.ok) Object.assign(grant, { revoked: 'said', revokedAtMs: time.ms })
  return []
}

/** Gives the token another value. Returns the grant of that one. */
export const refreshGrant: Revoke = async (ctx, time, accountId, grant) => {
  grant.revoked = 'perhaps'
  const done = await updateToken(ctx, cliActor(accountId), grant, { refreshToken: true })
  if (!done.ok) return []
  Object.assign(grant, { revoked: 'said', revokedAtMs: time.ms })
  return [{ ...grant, value: done.value.token, revoked: 'no', revokedAtMs: Number.POSITIVE_INFINITY }]
}

/** Gives the token the first `count` targets. */
export async function retarget(ctx: AccessContext, accountId: string, grant: Grant, count: number): Promise<void> {
  await updateToken(ctx, cliActor(accountId), grant, { updateRestream: targetsOf(count) })
}
