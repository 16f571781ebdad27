import { streamIdOf, type StreamRef } from '../../core/streams/streamId.ts'
import type { Session } from '../../core/sessions/types.ts'
import { StoreUnavailable, type Tx } from '../../store/store.ts'
import type { SessionContext } from '../context.ts'
import { emitStreamEvent } from '../webhooks/emit.ts'

/** At most one event per stream in this time. */
const QUIET_MS = 10_000
/**
 * Streams with failed attempts within `QUIET_MS`. More of them means that a client guesses names, and Sluice emits no
 * event.
 */
const ATTEMPTS_MAX = 1000
const IDLE_AT_ONCE = 500

/** A viewer requested a stream that is not published. */
export async function noteViewAttempt(ctx: SessionContext, stream: StreamRef): Promise<void> {
  if (!isWorthAnEvent(ctx, stream)) return
  const atMs = ctx.clock.now()
  try {
    await ctx.store.transaction(async (tx) => {
      if (await tx.viewing.attempt(stream, atMs, QUIET_MS)) await emitEvent(tx, stream, 'ViewerAttempt', atMs)
    })
  } catch (error) {
    // The viewer is refused anyway; a missing event must not turn that into a 500.
    if (!(error instanceof StoreUnavailable)) throw error
  }
}

/** Checks memory before the store, so that a flood of attempts costs nothing. */
function isWorthAnEvent({ sessions, clock }: SessionContext, { accountId, streamName }: StreamRef): boolean {
  const nowMs = clock.monotonic()
  const key = streamIdOf({ accountId, streamName })
  const last = sessions.attempts.get(key)
  if (last !== undefined && nowMs - last < QUIET_MS) return false
  if (sessions.attempts.size >= ATTEMPTS_MAX) forgetOld(sessions.attempts, nowMs)
  if (sessions.attempts.size >= ATTEMPTS_MAX) return false
  sessions.attempts.set(key, nowMs)
  return true
}

function forgetOld(attempts: Map<string, number>, nowMs: number): void {
  for (const [key, atMs] of attempts) if (nowMs - atMs >= QUIET_MS) attempts.delete(key)
}

/** Emits the event of a stream's first viewer, in the transaction that admits the viewer. */
export async function noteViewer(tx: Tx, session: Session): Promise<void> {
  if (await tx.viewing.begin(session)) await emitEvent(tx, session, 'FirstViewerConnection', session.startedAtMs)
}

/**
 * Emits an event for each stream whose last viewer left `idleMs` ago. Any node may run it; each event goes out once.
 * Returns the number of events.
 */
export async function emitIdleStreams(ctx: SessionContext, idleMs: number): Promise<number> {
  const atMs = ctx.clock.now()
  const beforeMs = atMs - idleMs
  let emitted = 0
  for (;;) {
    const streams = await ctx.store.read.viewing.idle(beforeMs, IDLE_AT_ONCE)
    for (const stream of streams) {
      await ctx.store.transaction(async (tx) => {
        if (!(await tx.viewing.desert(stream, beforeMs))) return
        await emitEvent(tx, stream, 'NoActiveViewers', atMs)
        emitted++
      })
    }
    if (streams.length < IDLE_AT_ONCE) return emitted
  }
}

type What = 'ViewerAttempt' | 'FirstViewerConnection' | 'NoActiveViewers'

function emitEvent(tx: Tx, { accountId, streamName }: StreamRef, event: What, atMs: number): Promise<void> {
  const data = { name: streamName, accountId, streamId: streamIdOf({ accountId, streamName }) }
  return emitStreamEvent(tx, { accountId, atMs }, { type: 'viewerConnection', event, data })
}
