import { sql } from 'kysely'
import { dbFlag } from '../columns.ts'
import { inSlices, Verbs } from '../executor.ts'
import { fieldsOf, type FieldsOf, rowOf } from '../records.ts'
import { namesOf } from '../schema.ts'
import type { AccessLogQuery, AccessLogRow, CodeCount, CodeCountQuery } from '../store.ts'
import { newestFirst } from './keyset.ts'
import { pruning } from './pruning.ts'

const prune = pruning('access_log', 'at_ms', ['account_id', 'at_ms', 'id'])

export class AccessLogReadVerbs extends Verbs {
  async page(query: AccessLogQuery): Promise<AccessLogRow[]> {
    const rows = await this.executor.ask((db) => {
      let page = db.selectFrom('access_log').select(fieldsOf('access_log')).where('account_id', '=', query.accountId)
      if (query.tokenId !== undefined) page = page.where('token_id', '=', query.tokenId)
      if (query.streamName !== undefined) page = page.where('stream_name', '=', query.streamName)
      if (query.address !== undefined) page = page.where('address', '=', query.address)
      if (query.code !== undefined) page = page.where('code', '=', query.code as AccessLogRow['code'])
      // A literal, because the planner cannot match a partial index with a parameter.
      if (query.allowed !== undefined) page = page.where('allowed', '=', sql.lit(query.allowed ? 1 : 0))
      if (query.fromMs !== undefined) page = page.where('at_ms', '>=', query.fromMs)
      if (query.untilMs !== undefined) page = page.where('at_ms', '<', query.untilMs)
      return newestFirst(page, ['at_ms', 'id'], query)
    })
    return rows.map(fromRow)
  }

  async get(accountId: string, id: string): Promise<AccessLogRow | undefined> {
    const [row] = await this.executor.ask((db) =>
      db
        .selectFrom('access_log')
        .select(fieldsOf('access_log'))
        .where('id', '=', id)
        .where('account_id', '=', accountId),
    )
    return row && fromRow(row)
  }

  async countCodes({ accountId, fromMs, untilMs, source }: CodeCountQuery): Promise<CodeCount[]> {
    return this.executor.ask((db) => {
      const within = db
        .selectFrom('access_log')
        .select(['code', sql<number>`cast(sum(count) as bigint)`.as('count')])
        .where('account_id', '=', accountId)
        .where('at_ms', '>=', fromMs)
        .where('at_ms', '<', untilMs)
      const chosen = source === undefined ? within : within.where('source', '=', source)
      return chosen.groupBy('code').orderBy('code')
    })
  }
}

export class AccessLogTxVerbs extends AccessLogReadVerbs {
  /** Idempotent: a writer may repeat a batch after an unclear result, and writes new totals into rows that exist. */
  async append(rows: readonly AccessLogRow[]): Promise<void> {
    await inSlices(rows, (slice) =>
      this.executor.change((db) =>
        db
          .insertInto('access_log')
          .values(slice.map(toRow))
          .onConflict((c) =>
            c.columns(['account_id', 'at_ms', 'id']).doUpdateSet((eb) => ({
              count: eb.ref('excluded.count'),
              last_at_ms: eb.ref('excluded.last_at_ms'),
            })),
          ),
      ),
    )
  }

  async prune(beforeMs: number, limit: number): Promise<number> {
    return this.executor.run(prune, { beforeMs, limit })
  }
}

const toRow = (row: AccessLogRow) =>
  rowOf('access_log', namesOf('access_log'), {
    ...row,
    allowed: dbFlag(row.allowed),
    trace: row.trace === null ? null : JSON.stringify(row.trace),
  })

const fromRow = (row: FieldsOf<'access_log'>): AccessLogRow => ({
  ...row,
  allowed: row.allowed === 1,
  trace: row.trace === null ? null : (JSON.parse(row.trace) as AccessLogRow['trace']),
})
