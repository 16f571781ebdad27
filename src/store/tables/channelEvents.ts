import { inSlices, Verbs } from '../executor.ts'
import { columnsOf, type RowOf } from '../schema.ts'
import type { ChannelEvent, ChannelEventQuery } from '../store.ts'
import { keysetPage } from './keyset.ts'
import { pruning } from './pruning.ts'

const prune = pruning('channel_events', 'at_ms', ['id'])

export class ChannelEventReadVerbs extends Verbs {
  async page(query: ChannelEventQuery): Promise<ChannelEvent[]> {
    const { accountId, types, fromMs, untilMs, descending, after, limit } = query
    const order = descending ? 'desc' : 'asc'
    const rows = await this.executor.ask((db) => {
      let page = db.selectFrom('channel_events').select(columnsOf('channel_events')).where('account_id', '=', accountId)
      if (types) page = page.where('type', 'in', types)
      if (fromMs !== undefined) page = page.where('at_ms', '>=', fromMs)
      if (untilMs !== undefined) page = page.where('at_ms', '<', untilMs)
      return keysetPage(page, { by: ['at_ms', 'id'], order, after: after && [after.atMs, after.id], limit })
    })
    return rows.map(fromRow)
  }
}

export class ChannelEventTxVerbs extends ChannelEventReadVerbs {
  async insert(events: readonly ChannelEvent[]): Promise<void> {
    await inSlices(events, (slice) =>
      this.executor.change((db) =>
        db.insertInto('channel_events').values(
          slice.map(({ id, accountId, atMs, type, data }) => ({
            id,
            account_id: accountId,
            at_ms: atMs,
            type,
            data,
          })),
        ),
      ),
    )
  }

  prune(beforeMs: number, limit: number): Promise<number> {
    return this.executor.run(prune, { beforeMs, limit })
  }
}

const fromRow = (row: RowOf<'channel_events'>): ChannelEvent => ({
  id: row.id,
  accountId: row.account_id,
  atMs: row.at_ms,
  type: row.type,
  data: row.data,
})
