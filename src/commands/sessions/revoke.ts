import { Batches } from '../../base/batches.ts'
import type { StreamRef } from '../../core/streams/streamId.ts'
import type { AccessRequest, Credential, Decision, TokenSnapshot } from '../../core/access/types.ts'
import { PROTOCOL_FACTS } from '../../core/access/protocols.ts'
import { decide } from '../../core/access/decide.ts'
import { sessionEndOf } from '../../core/access/rules/expiry.ts'
import type { SessionEndReason } from '../../core/sessions/endReason.ts'
import { type ActiveFeed, chooseSource, type RemoteFeedRef } from '../../media/feedsOnAir.ts'
import type { ActiveSession } from '../../media/sessionRegistry.ts'
import type { CachedToken, Changed } from '../../store/cached.ts'
import { StoreUnavailable } from '../../store/store.ts'
import type { SessionContext } from '../context.ts'
import { closeSession, endSession } from './close.ts'
import { dropAnonymous } from './dropAnonymous.ts'
import { endFollowed } from './heldEnd.ts'
import { takeLateSeats } from './lateSeats.ts'

/** Feeds of other nodes in memory. Beyond this number, Sluice queries single streams. */
const FEEDS_MAX = 10_000

type Refusal = Extract<Decision, { allowed: false }>

/** Called when feeds of other nodes have been read, with those of this node that turned out to be over. */
type FeedsRead = (ctx: SessionContext, over: readonly ActiveFeed[]) => Promise<void>

/**
 * Follows changes, here and on other nodes, until the returned function is called.
 *
 * @param feedsRead called when the feeds of other nodes are known
 */
export function followChanges(ctx: SessionContext, feedsRead: FeedsRead): () => void {
  const { stale } = ctx.sessions.feeds
  let kickedAtMs: number | undefined
  const kick = oneAtATime(() => {
    const askedAtMs = kickedAtMs
    kickedAtMs = undefined
    return endKicked(ctx, askedAtMs)
  })
  const look = () => readStaleFeeds(ctx, feedsRead)
  const recheckAny = oneAtATime(() => recheck(ctx, null))
  const follow = async (changed: Changed): Promise<void> => {
    if (changed.kind === 'token') return noteCuts(ctx, await recheckToken(ctx, changed.id), changed.atMs)
    if (changed.kind === 'account') return noteCuts(ctx, await recheck(ctx, changed.id), changed.atMs)
    if (changed.kind === 'kick') {
      kickedAtMs ??= changed.atMs
      return kick()
    }
    if (changed.kind === 'recording') return
    if (changed.kind === 'feed' && changed.stream !== null) stale.add(changed.stream)
    else stale.addAll()
    await (changed.kind === 'feed' ? look() : Promise.all([kick(), look(), recheckAny()]))
  }
  const apply = (changed: Changed): void => {
    follow(changed).catch((error: unknown) => {
      // The timers repeat this work, so a failure only delays it.
      ctx.log.warn({ changed, err: error }, 'a change could not be applied to sessions; trying again')
    })
  }
  const unfollow = ctx.cache.onChange(apply)
  // Changes of this process are read with those of others, which may take a second.
  const unwatch = ctx.sessions.watchWrittenEnds((streams) => {
    if (ctx.sessions.spares.size > 0) for (const stream of streams) apply({ kind: 'feed', stream })
  })
  return () => {
    unfollow()
    unwatch()
  }
}

/** Runs `work` one at a time. Any number of calls during one run cause one more run, because thousands of changes may arrive at once. */
function oneAtATime(work: () => Promise<unknown>): () => Promise<void> {
  const runs = new Batches<null>(1)
  return () =>
    runs.add(null, async () => {
      await work()
    })
}

/**
 * Ends the sessions that a token no longer admits, by its own rules and those of its account. Its limit counts the others. Never
 * rejects: a check that fails is repeated.
 */
async function recheckToken(ctx: SessionContext, tokenId: number): Promise<ActiveSession[]> {
  const entries = ctx.sessions.ofToken(tokenId)
  const streams = ctx.sessions.feeds.streamsOf(tokenId)
  if (entries.length === 0 && streams.size === 0) {
    ctx.sessions.unchecked.delete(tokenId)
    return []
  }
  let ended: ActiveSession[] = []
  try {
    const token = await ctx.cache.tokenById(tokenId)
    const isRepeated = ctx.sessions.unchecked.delete(tokenId)
    ended = endRefused(ctx, entries, token)
    if (token) await takeLateSeats(ctx, token.snapshot, streams, isRepeated)
  } catch (error) {
    // It is repeated, and keeps no other token from its check.
    ctx.sessions.unchecked.add(tokenId)
    if (!(error instanceof StoreUnavailable))
      ctx.log.error({ tokenId, err: error }, 'the sessions of a token could not be checked; trying again')
  }
  return ended
}

/** Repeats the checks that failed while the store was unavailable. */
export async function recheckLate(ctx: SessionContext): Promise<void> {
  // A copy: a check that fails again puts its token back, behind the others.
  const tokenIds = [...ctx.sessions.unchecked]
  for (const tokenId of tokenIds) await recheckToken(ctx, tokenId)
}

/**
 * Ends the sessions of this node whose tokens have `endAtExpiry` and have expired. Needs no store: the ends are written when
 * it is there. By the time of day, so that a pause or a clock that is set only delays them.
 */
export function endExpired(ctx: SessionContext): void {
  for (const entry of ctx.sessions.due(ctx.clock.now())) void endSession(ctx, entry, 'token_expired')
}

/** Checks the sessions of the tokens of one account, or of all (null). */
async function recheck(ctx: SessionContext, accountId: string | null): Promise<ActiveSession[]> {
  const sessions = ctx.sessions.all().map(({ session }) => session)
  const ids = new Set(
    sessions.filter((one) => accountId === null || one.accountId === accountId).flatMap((one) => one.tokenId ?? []),
  )
  const ended: ActiveSession[] = []
  for (const id of ids) ended.push(...(await recheckToken(ctx, id)))
  return ended
}

/**
 * Ends the sessions of this node that the store does not admit any more, or that users asked to end. False: not all could be checked.
 * Call it after the store was silent for long, before anything that depends on the check goes on. Never rejects.
 */
export async function recheckAll(ctx: SessionContext): Promise<boolean> {
  try {
    await Promise.all([recheck(ctx, null), endKicked(ctx)])
    return ctx.sessions.unchecked.size === 0
  } catch (error) {
    ctx.log.warn({ err: error }, 'sessions could not be checked; trying again')
    return false
  }
}

/** Does not wait for the ends: an edge that does not answer must not delay the next change. */
function endRefused(
  ctx: SessionContext,
  entries: readonly ActiveSession[],
  token: CachedToken | undefined,
): ActiveSession[] {
  return entries.filter((entry) => {
    const reason = entry.ending === null ? reasonToEnd(ctx, entry, token) : null
    if (reason !== null) void endSession(ctx, entry, reason)
    return reason !== null
  })
}

/** Measures how long after the change the last of these sessions is cut. */
async function noteCuts(ctx: SessionContext, ended: readonly ActiveSession[], changedAtMs: number): Promise<void> {
  if (ended.length === 0) return
  await Promise.all(ended.flatMap(({ ending }) => ending?.cut ?? []))
  // The clock of the node that changed it may be ahead by a little.
  ctx.sessions.counts.onLastCut?.(Math.max(0, ctx.clock.now() - changedAtMs))
}

/** Null: the session continues. */
function reasonToEnd(
  ctx: SessionContext,
  entry: ActiveSession,
  token: CachedToken | undefined,
): SessionEndReason | null {
  if (!token) return 'token_deleted'
  const { snapshot } = token
  // Its admission has not locked the token yet. Then it sees whether the token has changed, but not whether the account has.
  const isBeforeLock = entry.tokenHash === null
  if (isBeforeLock && snapshot.version !== entry.tokenVersion) return null
  if (!isBeforeLock && token.hashHex !== entry.tokenHash) return 'token_refreshed'
  if (snapshot.version === entry.tokenVersion && snapshot.accountVersion === entry.accountVersion) return null
  const problem = problemOfEdit(ctx, entry.request, snapshot)
  if (problem !== null) return problem.code === 'token_revoked' ? 'token_revoked' : 'token_edited'
  entry.tokenVersion = snapshot.version
  entry.accountVersion = snapshot.accountVersion
  ctx.sessions.setEnd(entry, sessionEndOf(snapshot, entry.request.credential))
  return null
}

/** Why an edited token no longer admits an earlier request; null: it does, or its edits end no sessions. */
export function problemOfEdit(ctx: SessionContext, request: AccessRequest, snapshot: TokenSnapshot): Refusal | null {
  const { isDialled } = PROTOCOL_FACTS[request.protocol]
  const credential: Credential = isDialled ? { kind: 'token', token: snapshot } : asLiving(request.credential, snapshot)
  const decision = decide({ ...request, credential }, ctx.policy, ctx.clock.now())
  if (decision.allowed) return null
  return isDialled || decision.code === 'token_revoked' || snapshot.endSessionsOnUpdate ? decision : null
}

/**
 * The same credential with the current token, as if it was active and had no expiry. A disabled token refuses only new
 * requests, and so does the expiry of one without `endAtExpiry`. That of the others is for `endExpired`.
 */
function asLiving(credential: Credential, snapshot: TokenSnapshot): Credential {
  const token = { ...snapshot, isActive: true, expiresAtMs: null }
  if (credential.kind !== 'selfSigned') return { kind: 'token', token }
  const claims = { ...credential.claims, expiresAtMs: Number.POSITIVE_INFINITY, notBeforeMs: null }
  return { kind: 'selfSigned', token, claims }
}

/**
 * Starts to end the sessions of this node that users asked to end. `done` resolves when they have ended.
 * @param askedAtMs when they asked; absent: not known
 */
export async function endKicked(ctx: SessionContext, askedAtMs?: number): Promise<{ readonly done: Promise<unknown> }> {
  const { sessions } = ctx
  const most = sessions.size + sessions.leaving.size
  if (sessions.node === '' || most === 0) return { done: Promise.resolve() }
  // The store lists them until their ends are written.
  const kicked = await ctx.store.read.sessions.kicked(sessions.node, most)
  const open = kicked.flatMap(({ id }) => sessions.get(id) ?? []).filter(({ ending }) => ending === null)
  const ends = kicked.map(({ id, reason }) => {
    const entry = sessions.get(id)
    return entry ? endSession(ctx, entry, reason) : closeSession(ctx, id, reason)
  })
  if (askedAtMs !== undefined) void noteCuts(ctx, open, askedAtMs)
  return { done: Promise.all(ends) }
}

/** Reads the feeds of other nodes that have changed since. All calls during one read share the next. */
export function readStaleFeeds(ctx: SessionContext, feedsRead: FeedsRead): Promise<void> {
  return ctx.sessions.feeds.reading.add('feeds', async () => {
    const streams = ctx.sessions.feeds.stale.take()
    if (streams?.length === 0) return
    try {
      const over = await refreshRemoteFeeds(ctx, streams)
      dropAnonymous(ctx, streams)
      endFollowed(ctx)
      ctx.cascade.follow(streams)
      await feedsRead(ctx, over)
    } catch (error) {
      ctx.sessions.feeds.stale.addAll()
      throw error
    }
  })
}

/**
 * Reads the feeds of streams at other nodes; without a list those of all streams. Returns the feeds of this node that turned out to be
 * over.
 */
export async function refreshRemoteFeeds(
  ctx: SessionContext,
  streams: readonly StreamRef[] | null = null,
): Promise<ActiveFeed[]> {
  const { feeds } = ctx.sessions
  // Listed before the read, since that may miss a feed that begins meanwhile.
  const own = streams?.flatMap(({ accountId, streamName }) => feeds.ofStream(accountId, streamName)) ?? feeds.all()
  const open = await (streams === null ? readAll(ctx, own.length > 0) : readSome(ctx, streams))
  return own.filter(({ feedId }) => !open.has(feedId))
}

/** Returns the ids of the feeds of these streams. */
async function readSome({ sessions, store }: SessionContext, streams: readonly StreamRef[]): Promise<Set<string>> {
  const open = await store.read.feeds.openOf(streams)
  const remote = open.filter(({ node }) => node !== sessions.node)
  sessions.feeds.setRemoteOf(streams, remote, FEEDS_MAX)
  return new Set(open.map(({ feedId }) => feedId))
}

/** Returns the ids of the feeds of this node, if it has any. */
async function readAll({ sessions, store, log }: SessionContext, hasOwn: boolean): Promise<Set<string>> {
  const feeds = await store.read.feeds.remote(sessions.node, FEEDS_MAX + 1)
  const knowsAll = feeds.length <= FEEDS_MAX
  if (!knowsAll && sessions.feeds.knowsAll)
    log.warn({ most: FEEDS_MAX }, 'more feeds are on the air than memory holds; querying the others')
  sessions.feeds.setRemote(knowsAll ? feeds : feeds.slice(0, FEEDS_MAX), knowsAll)
  return new Set(hasOwn ? await store.read.feeds.openIds(sessions.node) : [])
}

/** The feed of one source at another node: from memory, or from the store if memory does not hold all feeds. */
export async function remoteFeed(
  ctx: SessionContext,
  stream: StreamRef,
  sourceId: string | null,
): Promise<RemoteFeedRef | undefined> {
  const { sessions, store } = ctx
  const inMemory = sessions.feeds.remote(stream.accountId, stream.streamName, sourceId)
  if (inMemory || sessions.feeds.knowsAll) return inMemory
  return chooseSource(await store.read.feeds.remoteOf(sessions.node, stream), sourceId)
}
