import { Verbs } from '../executor.ts'
import { fieldsOf, insertion } from '../records.ts'
import { namesOf } from '../schema.ts'
import type { ChannelEvent, ChannelEventQuery } from '../store.ts'
import { keysetPage, within } from './keyset.ts'
import { pruning } from './pruning.ts'

const insert = insertion('channel_events', namesOf('channel_events'))

const prune = pruning('channel_events', 'at_ms', ['id'])

export class ChannelEventReadVerbs extends Verbs {
  page(query: ChannelEventQuery): Promise<ChannelEvent[]> {
    const { accountId, types, descending, after, limit } = query
    const order = descending ? 'desc' : 'asc'
    return this.executor.ask((db) => {
      const all = db.selectFrom('channel_events').select(fieldsOf('channel_events')).where('account_id', '=', accountId)
      const found = types ? all.where('type', 'in', types) : all
      return keysetPage(within(found, 'at_ms', query), {
        by: ['at_ms', 'id'],
        order,
        after: after && [after.atMs, after.id],
        limit,
      })
    })
  }
}

export class ChannelEventTxVerbs extends ChannelEventReadVerbs {
  insert(events: readonly ChannelEvent[]): Promise<void> {
    return insert(this.executor, events)
  }

  prune(beforeMs: number, limit: number): Promise<number> {
    return this.executor.run(prune, { beforeMs, limit })
  }
}
