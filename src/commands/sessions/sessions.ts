import { isoTime } from '../../base/time.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { invalid, notFound, type Failure } from '../../core/errors.ts'
import type { Mac } from '../../core/pages/cursor.ts'
import type { SessionEndReason } from '../../core/sessions/endReason.ts'
import type { SessionScope } from '../../core/sessions/types.ts'
import { readReprioritize, readSessionQuery, readStreamStop } from '../../core/sessions/sessionQuery.ts'
import { streamIdOf } from '../../core/streams/streamId.ts'
import type { StoredSession, Tx } from '../../store/store.ts'
import { type Actor, type SessionContext, audit } from '../context.ts'
import { type KeysetPage, mapPage, paginate } from '../pages.ts'
import { updateToken } from '../tokens/updateToken.ts'
import { noteKick } from './close.ts'
import { withNewest } from './newest.ts'
import { endKicked } from './revoke.ts'

/** Sessions that one transaction asks to end, and the number of such transactions: enough for ten million viewers. */
const KICKED_AT_ONCE = 2_000
const KICK_BATCHES_MAX = 5_000

export type SessionPage = KeysetPage<SessionEntry>

/** A session as the interface shows it. */
export type SessionEntry = ReturnType<typeof toEntry>

/** One page of the open sessions on all nodes; newest first. */
export async function listSessions(
  ctx: SessionContext,
  mac: Mac,
  accountId: string,
  query: Record<string, unknown>,
): Promise<Result<SessionPage, Failure>> {
  const read = readSessionQuery(query)
  if (!read.ok) return err(invalid(read.error))
  const { cursor, limit, ...filter } = read.value
  const page = await paginate(mac, {
    scope: { list: 'sessions', filters: { accountId, ...filter } },
    limit,
    cursor,
    keyOf: (row: StoredSession) => [row.id],
    read: ([after], most) => {
      const position = typeof after === 'string' ? { after } : {}
      return ctx.store.read.sessions.page({ accountId, ...filter, limit: most, ...position })
    },
  })
  return mapPage(page, (row) => toEntry(withNewest(ctx, row)))
}

/** Asks a session to end, on any node. */
export async function kickSession(ctx: SessionContext, actor: Actor, id: string): Promise<Result<true, Failure>> {
  const { accountId } = actor
  const found = await ctx.store.read.sessions.get(id)
  if (found?.accountId !== accountId || found.endedAtMs !== null) {
    return err(notFound('sessionId', `No session with id: ${id.slice(0, 32)}`))
  }
  const atMs = ctx.clock.now()
  await ctx.store.transaction(async (tx) => {
    const kicked = await tx.sessions.kick({ accountId, id }, 'kicked')
    if (!kicked) return
    await noteKick(tx, accountId, ctx.clock.now())
    await audit(tx, actor, ctx.clock.now(), { action: 'session.end', subject: id, before: toEntry(kicked) })
  })
  const here = await endKicked(ctx, atMs)
  await here.done
  return ok(true)
}

/** What ended: a stream, all streams of the account or those of a token; or nothing, because no session was open. */
export interface StopAnswer {
  stoppingLevel: 'Account' | 'Stream' | 'Token' | 'None'
}

/** Asks all sessions of a stream to end, publishers and viewers, on all nodes. */
export async function stopStream(
  ctx: SessionContext,
  actor: Actor,
  body: unknown,
): Promise<Result<StopAnswer, Failure>> {
  const read = readStreamStop(body)
  if (!read.ok) return err(invalid(read.error))
  const { accountId, streamName } = read.value
  if (accountId !== actor.accountId) return err(notFound('streamId', 'No stream of this account has this id'))
  const stopped = await stopAll(ctx, actor, { action: 'stream.stop', scope: { accountId, streamName } })
  return ok({ stoppingLevel: stopped ? 'Stream' : 'None' })
}

/** Asks all sessions of the account to end, publishers and viewers, on all nodes. */
export async function stopAllStreams(ctx: SessionContext, actor: Actor): Promise<Result<StopAnswer, Failure>> {
  const { accountId } = actor
  const stopped = await stopAll(ctx, actor, { action: 'account.stop', scope: { accountId } })
  return ok({ stoppingLevel: stopped ? 'Account' : 'None' })
}

/**
 * Gives the publishers of a token another priority: writes it, then asks their sessions to end on all nodes, because the
 * priority of a session never changes. Encoders come back with the new one.
 */
export async function reprioritize(
  ctx: SessionContext,
  actor: Actor,
  body: unknown,
): Promise<Result<StopAnswer, Failure>> {
  const read = readReprioritize(body)
  if (!read.ok) return err(invalid(read.error))
  const { tokenId, priority } = read.value
  const updated = await updateToken(ctx, actor, { kind: 'publish', id: tokenId }, { priority })
  if (!updated.ok) return updated
  const scope = { accountId: actor.accountId, tokenId }
  const stopped = await stopAll(ctx, actor, { action: 'stream.reprioritize', scope, reason: 'reprioritized' })
  return ok({ stoppingLevel: stopped ? 'Token' : 'None' })
}

interface Stopping {
  readonly action: string
  readonly scope: SessionScope
  /** Of the sessions that end. Absent: `stopped`. */
  readonly reason?: SessionEndReason
}

/**
 * Asks the nodes to end all sessions of a scope, in batches: a hundred thousand rows in one statement exceed the
 * statement timeout. The nodes start with the first batch while the others are written. False: no session was open.
 */
async function stopAll(ctx: SessionContext, actor: Actor, stopping: Stopping): Promise<boolean> {
  const atMs = ctx.clock.now()
  const sessions = await ctx.store.read.sessions.count(stopping.scope)
  let asked = 0
  for (let batch = 0; batch < KICK_BATCHES_MAX; batch += 1) {
    const count = await ctx.store.transaction(async (tx) => {
      const kicked = await tx.sessions.kickAll(stopping.scope, stopping.reason ?? 'stopped', KICKED_AT_ONCE)
      if (kicked === 0) return 0
      await noteKick(tx, actor.accountId, ctx.clock.now())
      if (batch === 0) await noteStop(ctx, tx, actor, stopping, Math.max(sessions, kicked))
      return kicked
    })
    asked += count
    if (count < KICKED_AT_ONCE) break
  }
  const here = await endKicked(ctx, atMs)
  await here.done
  return asked > 0
}

function noteStop(
  ctx: SessionContext,
  tx: Tx,
  actor: Actor,
  { action, scope }: Stopping,
  sessions: number,
): Promise<void> {
  const { accountId, streamName, tokenId } = scope
  const subject = tokenId?.toString() ?? (streamName === undefined ? accountId : streamIdOf({ accountId, streamName }))
  return audit(tx, actor, ctx.clock.now(), { action, subject, before: { sessions } })
}

/** Omits unknown fields. */
function toEntry(row: StoredSession) {
  return {
    id: row.id,
    action: row.action,
    protocol: row.protocol,
    streamName: row.streamName,
    streamId: streamIdOf(row),
    ...(row.sourceId === null ? {} : { sourceId: row.sourceId }),
    ...(row.layer === null ? {} : { layer: row.layer }),
    ...(row.feedId === null || row.isSpare ? {} : { feedId: row.feedId }),
    ...(row.feedId === null && !row.isSpare ? {} : { shown: !row.isSpare }),
    ...(row.priority === null ? {} : { priority: row.priority }),
    ...(row.tokenId === null ? {} : { tokenId: row.tokenId }),
    ...(row.jti === null ? {} : { jti: row.jti }),
    ...(row.trackingId === null ? {} : { trackingId: row.trackingId }),
    address: row.address,
    ...(row.origin === null ? {} : { origin: row.origin }),
    ...(row.country === null ? {} : { country: row.country }),
    startedOn: isoTime(row.startedAtMs),
    bytesIn: row.bytesIn,
    bytesOut: row.bytesOut + row.bytesFromCaches,
    ...(row.bytesFromCaches === 0 ? {} : { bytesFromCaches: row.bytesFromCaches }),
    ...(row.quality === null ? {} : { quality: row.quality }),
  }
}
