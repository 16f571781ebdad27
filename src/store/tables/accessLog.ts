import { sql } from 'kysely'
import { dbFlag } from '../columns.ts'
import { inSlices, Verbs } from '../executor.ts'
import { fieldsOf, type FieldsOf, rowOf } from '../records.ts'
import { namesOf } from '../schema.ts'
import type { AccessLogQuery, AccessLogRow, CodeCount, CodeCountQuery } from '../store.ts'
import { matching, newestFirst, within } from './keyset.ts'
import { pruning } from './pruning.ts'

const prune = pruning('access_log', 'at_ms', ['account_id', 'at_ms', 'id'])

export class AccessLogReadVerbs extends Verbs {
  async page(query: AccessLogQuery): Promise<AccessLogRow[]> {
    const rows = await this.executor.ask((db) => {
      const { accountId, tokenId, streamName, address, code, allowed } = query
      const found = matching(db.selectFrom('access_log').select(fieldsOf('access_log')), {
        account_id: accountId,
        token_id: tokenId,
        stream_name: streamName,
        address,
        code,
      })
      // A literal, because the planner cannot match a partial index with a parameter.
      const judged = allowed === undefined ? found : found.where('allowed', '=', sql.lit(allowed ? 1 : 0))
      return newestFirst(within(judged, 'at_ms', query), ['at_ms', 'id'], query)
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
      const all = db.selectFrom('access_log').select(['code', sql<number>`cast(sum(count) as bigint)`.as('count')])
      const found = within(matching(all, { account_id: accountId, source }), 'at_ms', { fromMs, untilMs })
      return found.groupBy('code')
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
