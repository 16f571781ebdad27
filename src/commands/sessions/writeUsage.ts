import type { HourlyCount } from '../../media/sessionRegistry.ts'
import type { Tx } from '../../store/store.ts'
import type { SessionContext } from '../context.ts'

/** Rows in one transaction. */
const AT_ONCE = 1_000

/**
 * Writes what bytes of this node's sessions count for, in rows of its own: in rounds that come every `everyMs` those whose
 * turn it is, and with `Infinity` all. Such a round also adds closed rows to the sums of all nodes. Rows hold totals, so that
 * a write whose answer was lost may be repeated. All calls during one write share the next write.
 * @param node its id, which it gives up before it ends. Without one nothing is written: a call that shared such a write would be
 * the last one of a node that leaves, of which a report is read meanwhile.
 */
export const writeUsage = (ctx: SessionContext, everyMs: number, node = ctx.sessions.node): Promise<void> =>
  node === ''
    ? Promise.resolve()
    : ctx.sessions.writingUsage.add(everyMs, ([roundMs = everyMs]) => round(ctx, roundMs, node))

async function round(ctx: SessionContext, everyMs: number, node: string): Promise<void> {
  const { risen, over } = ctx.sessions.usage.due(ctx.clock.now(), everyMs)
  await inSomeAtOnce(ctx, node, risen, put)
  if (everyMs < Number.POSITIVE_INFINITY) await inSomeAtOnce(ctx, node, over, fold)
}

/** Returns what to do after the commit. */
type Work = (tx: Tx, node: string, rows: readonly HourlyCount[], ctx: SessionContext) => Promise<() => void>

const put: Work = async (tx, node, rows) => {
  const writes = rows.map((row) => row.toWrite())
  const usage = writes.map((write) => write.usage)
  await tx.usage.put(node, usage)
  return () => {
    for (const { written } of writes) written()
  }
}

const fold: Work = async (tx, node, rows, { sessions }) => {
  const ords = rows.map(({ ord }) => ord)
  await tx.usage.fold(node, ords)
  return () => sessions.usage.forget(rows)
}

/** Nothing is written for a node that was given up: another node has added its rows, and they must not come back. */
async function inSomeAtOnce(
  ctx: SessionContext,
  node: string,
  rows: readonly HourlyCount[],
  work: Work,
): Promise<void> {
  for (let at = 0; at < rows.length; at += AT_ONCE) {
    const some = rows.slice(at, at + AT_ONCE)
    const committed = await ctx.store.transaction(async (tx) =>
      (await tx.nodes.lockShared(node)) ? work(tx, node, some, ctx) : null,
    )
    if (committed === null) return
    ctx.sessions.counts.writtenRows += some.length
    committed()
  }
}
