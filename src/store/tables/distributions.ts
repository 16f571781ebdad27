import type { Kysely } from 'kysely'
import type { Distribution, DistributionRules } from '../../core/channels/types.ts'
import { statement } from '../executor.ts'
import { fieldsOf } from '../records.ts'
import type { DB } from '../schema.ts'
import type { DistributionKey, DistributionListQuery } from '../store.ts'
import { keysetPage } from './keyset.ts'
import { PartTable, PartVerbs, ResourceTable, ResourceVerbs } from './resource.ts'

const distributions = new PartTable<'distributions', Distribution>('distributions', {
  toRow: ({ id, accountId, channelId, name, createdAtMs, updatedAtMs, ...rules }) => ({
    id,
    accountId,
    channelId,
    name,
    rules: JSON.stringify(rules),
    createdAtMs,
    updatedAtMs,
  }),
  fromRow: ({ rules, ...row }) => ({
    closedWithoutKey: false,
    llHls: true,
    ...(JSON.parse(rules) as Omit<DistributionRules, 'name' | 'closedWithoutKey' | 'llHls'>),
    ...row,
  }),
})

const keys = new ResourceTable<'distribution_keys', DistributionKey>('distribution_keys', {
  toRow: (key) => key,
  fromRow: (row) => row,
})

const byId = statement((db, p: { id: string }) =>
  db.selectFrom('distributions').select(fieldsOf('distributions')).where('id', '=', p.id),
)

const keysOf = statement((db, p: { distributionId: string }) => keysOfAll(db, [p.distributionId]))

const keysOfAll = (db: Kysely<DB>, distributionIds: readonly string[]) =>
  db
    .selectFrom('distribution_keys')
    .select(fieldsOf('distribution_keys'))
    .where('distribution_id', 'in', distributionIds)
    .orderBy('created_at_ms')
    .orderBy('id')

const forgetKeys = statement((db, p: { id: string }) =>
  db.deleteFrom('distribution_keys').where('distribution_id', '=', p.id),
)

export class DistributionVerbs extends PartVerbs<'distributions', Distribution> {
  protected override readonly table = distributions

  async page(query: DistributionListQuery): Promise<Distribution[]> {
    const { channelId, after, limit } = query
    const rows = await this.executor.ask((db) => {
      const all = db.selectFrom('distributions').select(fieldsOf('distributions')).where('channel_id', '=', channelId)
      return keysetPage(all, { by: ['name', 'id'], order: 'asc', after: after && [after.name, after.id], limit })
    })
    return distributions.read(rows)
  }

  async find(id: string): Promise<Distribution | undefined> {
    return distributions.read(await this.executor.all(byId, { id }))[0]
  }
}

export class DistributionKeyReadVerbs extends ResourceVerbs<'distribution_keys', DistributionKey> {
  protected override readonly table = keys

  async list(...distributionIds: string[]): Promise<DistributionKey[]> {
    const [distributionId] = distributionIds
    if (distributionId === undefined) return []
    if (distributionIds.length === 1) return keys.read(await this.executor.all(keysOf, { distributionId }))
    return keys.read(await this.executor.ask((db) => keysOfAll(db, distributionIds)))
  }
}

export class DistributionKeyTxVerbs extends DistributionKeyReadVerbs {
  async clear(distributionId: string): Promise<void> {
    await this.executor.run(forgetKeys, { id: distributionId })
  }
}
