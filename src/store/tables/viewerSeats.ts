import { sql } from 'kysely'
import type { ViewerLimit } from '../../core/access/viewerLimits.ts'
import { inSlices, statement, Verbs } from '../executor.ts'
import type { ViewerSeat } from '../viewerSeats.ts'
import { lockRows } from './lockRows.ts'

/** A viewer who has a seat of a holder. */
interface Taken {
  readonly holder: string
  readonly viewer: string
}

/** Waits for others who take or free seats of the holder. */
const lockHolder = statement((db, p: { holder: string }) =>
  db
    .insertInto('viewer_holders')
    .values({ holder: p.holder, viewers: 0 })
    .onConflict((c) => c.column('holder').doUpdateSet({ viewers: sql<number>`viewer_holders.viewers` }))
    .returning('viewers'),
)

const addOne = statement((db, p: { holder: string }) =>
  db.updateTable('viewer_holders').set({ viewers: sql`viewers + 1` }).where('holder', '=', p.holder),
)

const count = statement((db, p: { holder: string }) =>
  db.selectFrom('viewer_holders').select('viewers').where('holder', '=', p.holder),
)

const find = statement((db, p: Taken) =>
  db
    .selectFrom('viewer_seats')
    .select('session_id')
    .where('holder', '=', p.holder)
    .where('viewer', '=', p.viewer)
    .limit(sql.lit(1)),
)

const ofNode = statement((db, p: { node: string; limit: number }) =>
  db.selectFrom('viewer_seats').select('session_id').distinct().where('node_id', '=', p.node).limit(p.limit),
)

export class ViewerSeatReadVerbs extends Verbs {
  async count(holder: string): Promise<number> {
    return (await this.executor.first(count, { holder }))?.viewers ?? 0
  }

  async has(holder: string, viewer: string): Promise<boolean> {
    return (await this.executor.first(find, { holder, viewer })) !== undefined
  }
}

/** All lock holders in the same order, so that they cannot deadlock. */
export class ViewerSeatTxVerbs extends ViewerSeatReadVerbs {
  async take({ viewer, sessionId, node }: ViewerSeat, limits: readonly ViewerLimit[]): Promise<ViewerLimit | null> {
    const added: string[] = []
    for (const limit of limits.toSorted((a, b) => byBytes(a.holder, b.holder))) {
      const { holder, most } = limit
      const viewers = (await this.executor.first(lockHolder, { holder }))?.viewers ?? 0
      if (await this.has(holder, viewer)) continue
      if (viewers >= most) {
        await this.#forgetEmpty(added)
        return limit
      }
      added.push(holder)
    }
    for (const holder of added) await this.executor.run(addOne, { holder })
    const rows = limits.map(({ holder }) => ({ holder, viewer, session_id: sessionId, node_id: node }))
    await this.executor.change((db) =>
      db
        .insertInto('viewer_seats')
        .values(rows)
        .onConflict((c) => c.doNothing()),
    )
    return null
  }

  async free(sessionIds: readonly string[]): Promise<void> {
    const holders = await this.#lockHoldersOf(sessionIds)
    if (holders.length === 0) return
    const freed = await this.executor.askInSlices(sessionIds, (db, slice) =>
      db.deleteFrom('viewer_seats').where('session_id', 'in', slice).returning(['holder', 'viewer']),
    )
    await this.#subtract(await this.#withoutSeat(freed))
    await this.#forgetEmpty(holders)
  }

  async freeOfNode(node: string, limit: number): Promise<number> {
    const rows = await this.executor.all(ofNode, { node, limit })
    await this.free(rows.map((row) => row.session_id))
    return rows.length
  }

  async #lockHoldersOf(sessionIds: readonly string[]): Promise<string[]> {
    const rows = await this.executor.askInSlices(sessionIds, (db, slice) =>
      db.selectFrom('viewer_seats').select('holder').distinct().where('session_id', 'in', slice),
    )
    const holders = [...new Set(rows.map(({ holder }) => holder))].toSorted(byBytes)
    await inSlices(holders, (slice) =>
      this.executor.ask((db, dialect) => {
        const rows = db.selectFrom('viewer_holders').select('holder').where('holder', 'in', slice).orderBy('holder')
        return lockRows(dialect, rows, 'update')
      }),
    )
    return holders
  }

  /** Of those whose sessions gave their seats back: those who have no other session. */
  async #withoutSeat(freed: readonly Taken[]): Promise<Taken[]> {
    const left = new Map(freed.map((one) => [keyOf(one), one]))
    await inSlices([...left.values()], async (slice) => {
      const rows = await this.executor.ask((db) =>
        db
          .selectFrom('viewer_seats')
          .select(['holder', 'viewer'])
          .where((eb) => eb.or(slice.map(({ holder, viewer }) => eb.and({ holder, viewer })))),
      )
      for (const row of rows) left.delete(keyOf(row))
    })
    return [...left.values()]
  }

  async #subtract(gone: readonly Taken[]): Promise<void> {
    const byHolder = Map.groupBy(gone, ({ holder }) => holder)
    const byNumber = Map.groupBy(byHolder, ([, viewers]) => viewers.length)
    for (const [number, some] of byNumber) {
      await inSlices(some, (slice) =>
        this.executor.change((db) =>
          db
            .updateTable('viewer_holders')
            .set({ viewers: sql`viewers - ${sql.lit(number)}` })
            .where(
              'holder',
              'in',
              slice.map(([holder]) => holder),
            ),
        ),
      )
    }
  }

  #forgetEmpty(holders: readonly string[]): Promise<void> {
    return inSlices(holders, (slice) =>
      this.executor.change((db) =>
        db.deleteFrom('viewer_holders').where('holder', 'in', slice).where('viewers', '=', 0),
      ),
    )
  }
}

/** As both databases sort text. */
const byBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other))

const keyOf = ({ holder, viewer }: Taken): string => `${viewer} ${holder}`
