import { randomBytes } from 'node:crypto'
import type { Context } from '../../src/commands/context.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { parseAddress } from '../../src/core/access/address.ts'
import type { ActiveSession } from '../../src/media/sessionRegistry.ts'
import type { Session } from '../../src/core/sessions/types.ts'

const address = parseAddress('192.0.2.1')
const UNKNOWN = { sourceId: null, layer: null, tokenId: null, jti: null, trackingId: null, origin: null, country: null }

/**
 * Viewers of an open stream, in the store and in memory as `admitViewer` leaves them, but without a transaction for
 * each.
 */
export async function crowd(
  ctx: Context,
  accountId: string,
  streamName: string,
  count: number,
  more: Partial<Session> = {},
): Promise<Session[]> {
  const entries = Array.from({ length: count }, () => entryOf(ctx, accountId, streamName, more))
  await ctx.store.transaction(async (tx) => {
    for (const { session } of entries) await tx.sessions.insert(session, ctx.sessions.node)
    if (entries[0]) await tx.viewing.begin(entries[0].session)
  })
  for (const entry of entries) ctx.sessions.add(entry)
  return entries.map(({ session }) => session)
}

function entryOf(ctx: Context, accountId: string, streamName: string, more: Partial<Session>): ActiveSession {
  if (!address) throw new Error('no address')
  const [action, protocol] = ['view', 'whep'] as const
  const session: Session = {
    ...UNKNOWN,
    id: randomBytes(11).toString('hex'),
    action,
    protocol,
    accountId,
    streamName,
    address: address.text,
    startedAtMs: ctx.clock.now(),
    ...more,
  }
  return {
    session,
    cut: (one, reason) => closeSession(ctx, one.id, reason),
    request: {
      action,
      protocol,
      accountId,
      streamName,
      credential: { kind: 'none' },
      address,
      origin: null,
      country: null,
      streamIsSecured: false,
    },
    isEntering: false,
    tokenHash: null,
    tokenVersion: null,
    accountVersion: null,
    endsAtMs: null,
    viewer: session.id,
    holders: new Set(),
    slot: { connected: () => undefined, release: () => undefined },
    admittedAtMs: ctx.clock.monotonic(),
    mediaAtMs: null,
    media: null,
    bytes: { bytesIn: 0, bytesOut: 0 },
    written: { bytesIn: 0, bytesOut: 0 },
    record: null,
    noRestream: false,
    standing: null,
    ending: null,
  }
}
