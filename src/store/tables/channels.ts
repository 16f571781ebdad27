import type { SlateFacts } from '../../core/channels/slate.ts'
import type { ActiveStatus, Channel } from '../../core/channels/types.ts'
import { type Executor, inSlices, statement } from '../executor.ts'
import { fieldsOf } from '../records.ts'
import type { ChannelPageQuery, NewSlate } from '../store.ts'
import { containsText } from './containsText.ts'
import { matching, newestFirst } from './keyset.ts'
import { forgetEngineStates } from './engineStates.ts'
import { ResourceTable, ResourceVerbs } from './resource.ts'
import { deleteSlate, insertSlate } from './slates.ts'

const channels = new ResourceTable<'channels', Channel>('channels', {
  toRow: (channel) => ({
    ...channel,
    externalIds: JSON.stringify(channel.externalIds),
    slate: channel.slate && JSON.stringify(channel.slate),
  }),
  fromRow: (row) => ({
    ...row,
    externalIds: JSON.parse(row.externalIds) as string[],
    slate: row.slate === null ? null : (JSON.parse(row.slate) as SlateFacts),
  }),
  unchanged: ['status', 'slate'],
})

const setStatus = statement((db, p: { id: string; status: ActiveStatus }) =>
  db.updateTable('channels').set({ status: p.status }).where('id', '=', p.id),
)

const setSlate = statement((db, p: { id: string; slate: string | null }) =>
  db.updateTable('channels').set({ slate: p.slate }).where('id', '=', p.id),
)

const forgetExternalIds = statement((db, p: { id: string }) =>
  db.deleteFrom('channel_external_ids').where('channel_id', '=', p.id),
)

export class ChannelReadVerbs extends ResourceVerbs<'channels', Channel> {
  protected override readonly table = channels

  async page(query: ChannelPageQuery): Promise<Channel[]> {
    const { accountId, externalId, search } = query
    const rows = await this.executor.ask((db) => {
      const all = db.selectFrom('channels').select(fieldsOf('channels'))
      let page = matching(all, { account_id: accountId, name: query.name })
      if (query.statuses) page = page.where('status', 'in', query.statuses)
      if (query.ids) page = page.where('id', 'in', query.ids)
      if (search !== undefined) page = page.where((eb) => eb.or([eb('id', '=', search), containsText('name', search)]))
      if (externalId !== undefined) {
        page = page.where('id', 'in', (eb) =>
          eb
            .selectFrom('channel_external_ids as named')
            .select('named.channel_id')
            .where('named.account_id', '=', accountId)
            .where('named.external_id', '=', externalId),
        )
      }
      return newestFirst(page, ['created_at_ms', 'id'], query)
    })
    return channels.read(rows)
  }

  async timeouts(ids: readonly string[]): Promise<Map<string, number>> {
    const rows = await this.executor.askInSlices(ids, (db, slice) =>
      db.selectFrom('channels').select(['id', 'timeout_seconds']).where('id', 'in', slice),
    )
    return new Map(rows.map(({ id, timeout_seconds: seconds }) => [id, seconds]))
  }
}

export class ChannelTxVerbs extends ChannelReadVerbs {
  override async insert(channel: Channel): Promise<void> {
    await super.insert(channel)
    await insertExternalIds(this.executor, channel)
  }

  override async replace(channel: Channel): Promise<void> {
    await super.replace(channel)
    await this.executor.run(forgetExternalIds, { id: channel.id })
    await insertExternalIds(this.executor, channel)
  }

  async setStatus(id: string, status: ActiveStatus): Promise<void> {
    await this.executor.run(setStatus, { id, status })
  }

  async setSlate(channelId: string, slate: NewSlate | null): Promise<void> {
    await this.executor.run(deleteSlate, { channelId })
    if (slate) await this.executor.run(insertSlate, { id: slate.facts.id, channelId, media: slate.media })
    await this.executor.run(setSlate, { id: channelId, slate: slate && JSON.stringify(slate.facts) })
  }

  /** Also deletes its ingests, engines, distributions, keys, external ids and slate (`on delete cascade`). */
  override async delete(id: string): Promise<void> {
    await super.delete(id)
    await forgetEngineStates(this.executor, id)
  }
}

async function insertExternalIds(executor: Executor, { id, accountId, externalIds }: Channel): Promise<void> {
  // In one order, so that two channels with the same ids do not wait for each other.
  const rows = externalIds
    .toSorted()
    .map((externalId) => ({ account_id: accountId, external_id: externalId, channel_id: id }))
  await inSlices(rows, (slice) => executor.change((db) => db.insertInto('channel_external_ids').values(slice)))
}
