import { type Kysely, sql, type SqlBool } from 'kysely'
import type { Engine } from '../../core/channels/types.ts'
import type { ScheduleTarget } from '../../core/channels/schedules/requests.ts'
import { dbFlag } from '../columns.ts'
import { statement } from '../executor.ts'
import { fieldsOf, rowOf } from '../records.ts'
import { type DB, namesOf } from '../schema.ts'
import type { Scheduler, SchedulerQuery, SkippedOccurrence } from '../store.ts'
import { keysetPage } from './keyset.ts'
import { lockRows } from './lockRows.ts'
import { pruning } from './pruning.ts'
import { ResourceTable, ResourceVerbs } from './resource.ts'

const schedulers = new ResourceTable<'schedulers', Scheduler>('schedulers', {
  toRow: ({ occurrence, ...one }) => ({
    ...one,
    enabled: dbFlag(one.enabled),
    channels: JSON.stringify(one.channels),
    occurrenceStartMs: occurrence?.startMs ?? null,
    occurrenceEndMs: occurrence?.endMs ?? null,
  }),
  fromRow: ({ occurrenceStartMs: startMs, occurrenceEndMs: endMs, ...row }) => ({
    ...row,
    enabled: row.enabled === 1,
    channels: JSON.parse(row.channels) as ScheduleTarget[],
    occurrence: startMs === null ? null : { startMs, endMs },
  }),
  unchanged: ['account_id', 'created_at_ms'],
})

const COLUMNS = {
  createdAt: 'created_at_ms',
  name: 'name',
  status: 'status',
  startDate: 'start_date',
  startTime: 'start_time',
} as const

const due = statement((db, p: { nowMs: number; limit: number }) =>
  db
    .selectFrom('schedulers')
    .select(['id', 'account_id as accountId'])
    .where('next_at_ms', 'is not', null)
    .where('next_at_ms', '<=', p.nowMs)
    .orderBy('next_at_ms')
    .orderBy(sql`status = 'active'`)
    .orderBy('id')
    .limit(p.limit),
)

const seenBeyond = statement((db, p: { atMs: number; limit: number }) =>
  db
    .selectFrom('schedulers')
    .select(['id', 'account_id as accountId'])
    .where('status', '<>', 'terminated')
    .where('seen_until_ms', '>', p.atMs)
    .orderBy('id')
    .limit(p.limit),
)

const ofAccount = (db: Kysely<DB>, p: { accountId: string }) =>
  db.selectFrom('schedulers').select(fieldsOf('schedulers')).where('account_id', '=', p.accountId)

/** The targets are JSON, in which the id stands as a whole text. */
const targetOf = (channelId: string): string => JSON.stringify({ channelId }).slice(1, -1)

/** Not `like`, which ignores the case of letters in SQLite alone. */
const names = (target: string) => sql<SqlBool>`replace(channels, ${target}, '') <> channels`

const naming = statement((db, p: { accountId: string; target: string }, dialect) => {
  const rows = ofAccount(db, p).where('status', '<>', 'terminated').where(names(p.target))
  return lockRows(dialect, rows.orderBy('id'), 'update')
})

const otherNaming = statement((db, p: { accountId: string; id: string; channel: string; engine: string }) =>
  db
    .selectFrom('schedulers')
    .select('id')
    .where('account_id', '=', p.accountId)
    .where('status', '=', 'active')
    .where('id', '<>', p.id)
    .where((of) => of.or([names(p.channel), names(p.engine)]))
    .limit(sql.lit(1)),
)

const lockAll = statement((db, p: { accountId: string }, dialect) =>
  lockRows(dialect, ofAccount(db, p).orderBy('id'), 'update'),
)

const count = statement((db, p: { accountId: string }) =>
  db
    .selectFrom('schedulers')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('account_id', '=', p.accountId),
)

const skips = statement((db, p: { id: string; limit: number }) =>
  db
    .selectFrom('scheduler_skips')
    .select(fieldsOf('scheduler_skips'))
    .where('scheduler_id', '=', p.id)
    .orderBy('start_ms', 'desc')
    .limit(p.limit),
)

const unskip = statement((db, p: { id: string; afterMs: number }) =>
  db.deleteFrom('scheduler_skips').where('scheduler_id', '=', p.id).where('start_ms', '>', p.afterMs),
)

const pruneSkipped = pruning('scheduler_skips', 'at_ms', ['scheduler_id', 'start_ms'])

export class SchedulerReadVerbs extends ResourceVerbs<'schedulers', Scheduler> {
  protected override readonly table = schedulers

  async page(query: SchedulerQuery): Promise<Scheduler[]> {
    const order = query.descending ? 'desc' : 'asc'
    const { after, statuses, channelId, limit } = query
    const rows = await this.executor.ask((db) => {
      let page = ofAccount(db, query)
      if (statuses) page = page.where('status', 'in', statuses as Scheduler['status'][])
      if (channelId !== undefined) page = page.where(names(targetOf(channelId)))
      return keysetPage(page, {
        by: [COLUMNS[query.sortBy], 'id'],
        order,
        after: after && [after.key, after.id],
        limit,
      })
    })
    return schedulers.read(rows)
  }

  due(nowMs: number, limit: number): Promise<{ accountId: string; id: string }[]> {
    return this.executor.all(due, { nowMs, limit })
  }

  seenBeyond(atMs: number, limit: number): Promise<{ accountId: string; id: string }[]> {
    return this.executor.all(seenBeyond, { atMs, limit })
  }

  skips(id: string, limit: number): Promise<SkippedOccurrence[]> {
    return this.executor.all(skips, { id, limit })
  }
}

export class SchedulerTxVerbs extends SchedulerReadVerbs {
  async lockNaming(accountId: string, channelId: string): Promise<Scheduler[]> {
    return schedulers.read(await this.executor.all(naming, { accountId, target: targetOf(channelId) }))
  }

  async lockAll(accountId: string): Promise<Scheduler[]> {
    return schedulers.read(await this.executor.all(lockAll, { accountId }))
  }

  async isWantedByOther({ accountId, id }: Scheduler, engine: Pick<Engine, 'id' | 'channelId'>): Promise<boolean> {
    // A target that is the whole channel has nothing but its id.
    const [channel, named] = [JSON.stringify({ channelId: engine.channelId }), JSON.stringify(engine.id)]
    const found = await this.executor.first(otherNaming, { accountId, id, channel, engine: named })
    return found !== undefined
  }

  async count(accountId: string): Promise<number> {
    return (await this.executor.first(count, { accountId }))?.n ?? 0
  }

  async skip(rows: readonly SkippedOccurrence[]): Promise<void> {
    if (rows.length === 0) return
    const values = rows.map((row) => rowOf('scheduler_skips', namesOf('scheduler_skips'), row))
    await this.executor.change((db) =>
      db
        .insertInto('scheduler_skips')
        .values(values)
        .onConflict((c) => c.columns(['scheduler_id', 'start_ms']).doNothing()),
    )
  }

  async unskip(id: string, afterMs: number): Promise<void> {
    await this.executor.run(unskip, { id, afterMs })
  }

  pruneSkips(beforeMs: number, limit: number): Promise<number> {
    return this.executor.run(pruneSkipped, { beforeMs, limit })
  }
}
