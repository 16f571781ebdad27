import { isStale, mayBeWanted, mayComeSoon, WAIT_MS } from '../../core/pulls/demand.ts'
import { streamIdOf, type StreamRef } from '../../core/streams/streamId.ts'
import { type PullOnDemand, StoreUnavailable } from '../../store/store.ts'
import type { SessionContext } from '../context.ts'

type DemandContext = Pick<SessionContext, 'store' | 'clock' | 'sessions'>

/**
 * An admitted viewer wants a stream that is not on the air: has its sources dialled that are on demand, and waits for the
 * first of them. True: look for the feed again. Without such a source it costs one look into memory.
 */
export async function awaitSource(ctx: DemandContext, { accountId, streamName }: StreamRef): Promise<boolean> {
  const { sessions, clock } = ctx
  const key = streamIdOf({ accountId, streamName })
  const nowMs = clock.now()
  const pulls = sessions.demand.of(key).filter((pull) => mayBeWanted(pull, nowMs))
  if (pulls.length === 0) return false
  const stale = pulls.filter((pull) => isStale(pull, nowMs)).map(({ id }) => id)
  // Noted before it is written, so that a crowd writes once.
  sessions.demand.noted(key, stale, nowMs)
  if (stale.length > 0 && !(await want(ctx, stale, nowMs))) return false
  if (sessions.feeds.onAir(accountId, streamName) !== undefined) return true
  return pulls.some((pull) => mayComeSoon(pull, nowMs)) && sessions.demand.wait(key, clock, WAIT_MS)
}

/** False: the store cannot take it now. */
async function want({ store, sessions }: DemandContext, ids: readonly number[], nowMs: number): Promise<boolean> {
  try {
    await store.transaction(async (tx) => {
      for (const id of ids) {
        await tx.pulls.want(id, nowMs)
        // The node of the first viewer runs it, if none does: its media takes the shortest way.
        await tx.pulls.claim(id, sessions.node)
      }
    })
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    return false
  }
  sessions.demand.written()
  return true
}

/** Notes which of these have viewers at this node, so that their sources stay. One that no node runs is left so. */
export async function keepWanted(
  { store, clock, sessions }: DemandContext,
  pulls: readonly PullOnDemand[],
): Promise<void> {
  const nowMs = clock.now()
  const watched = pulls.filter(
    (pull) => pull.node !== null && isStale(pull, nowMs) && mayBeWanted(pull, nowMs) && hasViewers(sessions, pull),
  )
  if (watched.length === 0) return
  await store.transaction(async (tx) => {
    for (const { id } of watched) await tx.pulls.want(id, nowMs)
  })
}

function hasViewers({ streams }: DemandContext['sessions'], { accountId, streamName }: StreamRef): boolean {
  const count = streams.of(accountId, streamName)
  return count !== undefined && count.whep + count.hls > 0
}
