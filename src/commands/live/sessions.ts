import { err, ok, type Result } from '../../base/result.ts'
import { invalid, notFound, type Failure } from '../../core/errors.ts'
import type { Mac } from '../../core/page/cursor.ts'
import { readSessionQuery, readStreamStop } from '../../core/sessions/sessionQuery.ts'
import type { Kicked, StoredSession, Tx } from '../../store/store.ts'
import { audit, type Actor, type Context } from '../context.ts'
import { type KeysetPage, shownPage, walk } from '../keysetPage.ts'
import { writeBytes } from './count.ts'
import { endKicked } from './revoke.ts'

export type SessionPage = KeysetPage<SessionEntry>

/** A session as the interface shows it. */
export type SessionEntry = ReturnType<typeof toEntry>

/** One page of those who are on, on all nodes; newest first. */
export async function listSessions(
  ctx: Context,
  mac: Mac,
  accountId: string,
  query: Record<string, unknown>,
): Promise<Result<SessionPage, Failure>> {
  const read = readSessionQuery(query)
  if (!read.ok) return err(invalid(read.error))
  const { cursor, limit, ...filter } = read.value
  const page = await walk(mac, {
    scope: { list: 'sessions', filters: { accountId, ...filter } },
    limit,
    cursor,
    keyOf: (row: StoredSession) => [row.id],
    read: async ([after], most) => {
      // So that the bytes of this node are those of now.
      await writeBytes(ctx)
      const position = typeof after === 'string' ? { after } : {}
      return ctx.store.read.sessions.page({ accountId, ...filter, limit: most, ...position })
    },
  })
  return shownPage(page, toEntry)
}

/** The latest of those who are on, newest first; bytes as the servers last wrote them. */
export async function recentSessions(ctx: Context, accountId: string, limit: number): Promise<SessionEntry[]> {
  return (await ctx.store.read.sessions.page({ accountId, limit })).map(toEntry)
}

/** Asks for the end of a session, on whatever node it is. */
export async function kickSession(ctx: Context, actor: Actor, id: string): Promise<Result<true, Failure>> {
  const { accountId } = actor
  const found = await ctx.store.read.sessions.get(id)
  if (found?.accountId !== accountId || found.endedAtMs !== null) {
    return err(notFound('sessionId', `No session with id: ${id.slice(0, 32)}`))
  }
  await ctx.store.transaction(async (tx) => {
    const kicked = await tx.sessions.kick({ accountId, id }, 'kicked')
    await tellNodes(ctx, tx, actor, 'session.end', id, kicked)
  })
  const here = await endKicked(ctx)
  await here.done
  return ok(true)
}

/** What was ended: a stream or the account with everybody on it, or nothing, because nobody was. */
export interface StopAnswer {
  stoppingLevel: 'Account' | 'Stream' | 'None'
}

/** Asks for the end of everybody who publishes or views a stream, on all nodes. */
export async function stopStream(ctx: Context, actor: Actor, body: unknown): Promise<Result<StopAnswer, Failure>> {
  const read = readStreamStop(body)
  if (!read.ok) return err(invalid(read.error))
  const { accountId, streamName } = read.value
  if (accountId !== actor.accountId) return err(notFound('streamId', 'No stream of this account has this id'))
  const which = { accountId, streamName }
  const stopped = await stop(ctx, actor, { action: 'stream.stop', subject: `${accountId}/${streamName}`, which })
  return ok({ stoppingLevel: stopped ? 'Stream' : 'None' })
}

/** Asks for the end of everybody who publishes or views a stream of the account, on all nodes. */
export async function stopAllStreams(ctx: Context, actor: Actor): Promise<Result<StopAnswer, Failure>> {
  const { accountId } = actor
  const which = { accountId, all: true } as const
  const stopped = await stop(ctx, actor, { action: 'account.stop', subject: accountId, which })
  return ok({ stoppingLevel: stopped ? 'Account' : 'None' })
}

/** Was anybody there? */
async function stop(
  ctx: Context,
  actor: Actor,
  { action, subject, which }: { action: string; subject: string; which: Kicked },
): Promise<boolean> {
  const stopped = await ctx.store.transaction(async (tx) => {
    const kicked = await tx.sessions.kick(which, 'stopped')
    await tellNodes(ctx, tx, actor, action, subject, kicked)
    return kicked.length > 0
  })
  const here = await endKicked(ctx)
  await here.done
  return stopped
}

async function tellNodes(
  ctx: Context,
  tx: Tx,
  actor: Actor,
  action: string,
  subject: string,
  kicked: readonly StoredSession[],
): Promise<void> {
  if (kicked.length === 0) return
  const atMs = ctx.clock.now()
  await tx.changes.append({ kind: 'kick', accountId: actor.accountId, id: 0, atMs })
  const [first] = kicked
  const before = kicked.length === 1 && first ? toEntry(first) : { sessions: kicked.length }
  await audit(tx, actor, atMs, { action, subject, before })
}

/** What is not known is left out. */
function toEntry(row: StoredSession) {
  return {
    id: row.id,
    action: row.action,
    protocol: row.protocol,
    streamName: row.streamName,
    streamId: `${row.accountId}/${row.streamName}`,
    ...(row.sourceId === null ? {} : { sourceId: row.sourceId }),
    ...(row.feedId === null ? {} : { feedId: row.feedId }),
    ...(row.tokenId === null ? {} : { tokenId: row.tokenId }),
    ...(row.jti === null ? {} : { jti: row.jti }),
    ...(row.trackingId === null ? {} : { trackingId: row.trackingId }),
    address: row.address,
    ...(row.origin === null ? {} : { origin: row.origin }),
    ...(row.country === null ? {} : { country: row.country }),
    startedOn: new Date(row.startedAtMs).toISOString(),
    bytesIn: row.bytesIn,
    bytesOut: row.bytesOut,
  }
}
