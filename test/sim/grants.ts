import { type AccessContext, cliActor } from '../../src/commands/context.ts'
import { createToken } from '../../src/commands/tokens/createToken.ts'
import { deleteToken } from '../../src/commands/tokens/deleteToken.ts'
import { updateToken } from '../../src/commands/tokens/updateToken.ts'
import type { TokenKind } from '../../src/core/tokens/types.ts'

/** A token by one of its values. A refreshed token has another one. */
export interface Grant {
  readonly kind: TokenKind
  readonly id: number
  readonly value: string
  readonly maxViewers: number | null
  readonly maxAddresses: number | null
  /** Of its publishers; null: the lowest. */
  readonly priority: number | null
  /** Its feeds are sent on. */
  readonly hasTargets: boolean
  /** `said`: the answer to a deletion or a refresh was received, so that nothing may begin with it any more. */
  revoked: 'no' | 'perhaps' | 'said'
}

interface Rules {
  readonly maxViewers?: number
  readonly bindIpsOnUsage?: number
  readonly priority?: number
  readonly restream?: ReturnType<typeof targetsOf>
}

/** The first targets of a list. */
const targetsOf = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ url: `rtmp://target${at}.example.com/live`, key: `the-key-of-${at}` }))

const STREAMS = [{ streamName: '.*', isRegex: true }]

/**
 * Three tokens of publishers, of which one has targets and one comes before the others, and three of viewers: without limits,
 * with one of viewers, and with one of addresses.
 */
export async function makeGrants(ctx: AccessContext, accountId: string): Promise<Grant[]> {
  const make = async (kind: TokenKind, rules: Rules): Promise<Grant> => {
    const made = await createToken(ctx, cliActor(accountId), kind, { label: kind, streams: STREAMS, ...rules })
    if (!made.ok) throw new Error(JSON.stringify(made.error))
    const { maxViewers = null, bindIpsOnUsage: maxAddresses = null, priority = null } = rules
    const { id, token: value } = made.value
    const hasTargets = rules.restream !== undefined
    return { kind, id, value, maxViewers, maxAddresses, priority, hasTargets, revoked: 'no' }
  }
  return [
    await make('publish', {}),
    await make('publish', { restream: targetsOf(1) }),
    await make('publish', { priority: 5 }),
    await make('subscribe', {}),
    await make('subscribe', { maxViewers: 2 }),
    await make('subscribe', { bindIpsOnUsage: 2 }),
  ]
}

/** Deletes the token. No grant follows. */
export async function deleteGrant(ctx: AccessContext, accountId: string, grant: Grant): Promise<Grant[]> {
  grant.revoked = 'perhaps'
  const done = await deleteToken(ctx, cliActor(accountId), grant.kind, grant.id)
  if (done.ok) grant.revoked = 'said'
  return []
}

/** Gives the token another value. Returns the grant of that one. */
export async function refreshGrant(ctx: AccessContext, accountId: string, grant: Grant): Promise<Grant[]> {
  grant.revoked = 'perhaps'
  const done = await updateToken(ctx, cliActor(accountId), grant.kind, grant.id, { refreshToken: true })
  if (!done.ok) return []
  grant.revoked = 'said'
  return [{ ...grant, value: done.value.token, revoked: 'no' }]
}

/** Gives the token the first `count` targets. */
export async function retarget(ctx: AccessContext, accountId: string, grant: Grant, count: number): Promise<void> {
  await updateToken(ctx, cliActor(accountId), grant.kind, grant.id, { updateRestream: targetsOf(count) })
}
