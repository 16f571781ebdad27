import { Verbs } from '../executor.ts'
import { fieldsOf, insertion } from '../records.ts'
import { namesOf } from '../schema.ts'
import type { ChannelEvent, ChannelEventQuery } from '../store.ts'
import { keysetPage } from './keyset.ts'
import { pruning } from './pruning.ts'

const insert = insertion('channel_events', namesOf('channel_events'))

const prune = pruning('channel_events', 'at_ms', ['id'])

export class ChannelEventReadVerbs extends Verbs {
  page(query: ChannelEventQuery): Promise<ChannelEvent[]> {
    const { accountId, types, fromMs, untilMs, descending, after, limit } = query
    const order = descending ? 'desc' : 'asc'
    return this.executor.ask((db) => {
      let page = db.selectFrom('channel_events').select(fieldsOf('channel_events')).where('account_id', '=', accountId)
      if (types) page = page.where('type', 'in', types)
      if (fromMs !== undefined) page = page.where('at_ms', '>=', fromMs)
      if (untilMs !== undefined) page = page.where('at_ms', '<', untilMs)
      return keysetPage(page, { by: ['at_ms', 'id'], order, after: after && [after.atMs, after.id], limit })
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
