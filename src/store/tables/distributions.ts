import type { Kysely } from 'kysely'
import type { Distribution, DistributionRules } from '../../core/channels/types.ts'
import { statement, Verbs } from '../executor.ts'
import { columnsOf, type DB } from '../schema.ts'
import type { DistributionKey, DistributionListQuery } from '../store.ts'
import { keysetPage } from './keyset.ts'
import { PartStatements, ResourceStatements } from './resource.ts'

const distributions = new PartStatements<'distributions', Distribution>('distributions', {
  toRow: ({ id, accountId, channelId, name, createdAtMs, updatedAtMs, ...rules }) => ({
    id,
    account_id: accountId,
    channel_id: channelId,
    name,
    rules: JSON.stringify(rules),
    created_at_ms: createdAtMs,
    updated_at_ms: updatedAtMs,
  }),
  fromRow: (row) => ({
    id: row.id,
    accountId: row.account_id,
    channelId: row.channel_id,
    name: row.name,
    closedWithoutKey: false,
    llHls: true,
    ...(JSON.parse(row.rules) as Omit<DistributionRules, 'name' | 'closedWithoutKey' | 'llHls'>),
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
  }),
  unchanged: [],
})

const keys = new ResourceStatements<'distribution_keys', DistributionKey>('distribution_keys', {
  toRow: (key) => ({
    id: key.id,
    account_id: key.accountId,
    distribution_id: key.distributionId,
    name: key.name,
    key_sealed: key.keySealed,
    created_at_ms: key.createdAtMs,
  }),
  fromRow: (row) => ({
    id: row.id,
    accountId: row.account_id,
    distributionId: row.distribution_id,
    name: row.name,
    keySealed: row.key_sealed,
    createdAtMs: row.created_at_ms,
  }),
  unchanged: [],
})

const byId = statement((db, p: { id: string }) =>
  db.selectFrom('distributions').select(columnsOf('distributions')).where('id', '=', p.id),
)

const keysOf = statement((db, p: { distributionId: string }) => keysOfAll(db, [p.distributionId]))

const keysOfAll = (db: Kysely<DB>, distributionIds: readonly string[]) =>
  db
    .selectFrom('distribution_keys')
    .select(columnsOf('distribution_keys'))
    .where('distribution_id', 'in', distributionIds)
    .orderBy('created_at_ms')
    .orderBy('id')

const forgetKeys = statement((db, p: { id: string }) =>
  db.deleteFrom('distribution_keys').where('distribution_id', '=', p.id),
)

export class DistributionReadVerbs extends Verbs {
  get(accountId: string, id: string): Promise<Distribution | undefined> {
    return distributions.get(this.executor, accountId, id)
  }

  async page(query: DistributionListQuery): Promise<Distribution[]> {
    const { channelId, after, limit } = query
    const rows = await this.executor.ask((db) => {
      const all = db.selectFrom('distributions').select(columnsOf('distributions')).where('channel_id', '=', channelId)
      return keysetPage(all, { by: ['name', 'id'], order: 'asc', after: after && [after.name, after.id], limit })
    })
    return distributions.read(rows)
  }

  ofChannel(channelId: string): Promise<Distribution[]> {
    return distributions.ofChannel(this.executor, channelId)
  }

  count(channelId: string): Promise<number> {
    return distributions.count(this.executor, channelId)
  }

  async find(id: string): Promise<Distribution | undefined> {
    return distributions.read(await this.executor.all(byId, { id }))[0]
  }
}

export class DistributionTxVerbs extends DistributionReadVerbs {
  insert(...values: Distribution[]): Promise<void> {
    return distributions.insert(this.executor, values)
  }

  replace(value: Distribution): Promise<void> {
    return distributions.replace(this.executor, value)
  }

  /** Also deletes its keys (`on delete cascade`). */
  delete(id: string): Promise<void> {
    return distributions.delete(this.executor, id)
  }
}

export class DistributionKeyReadVerbs extends Verbs {
  async list(...distributionIds: string[]): Promise<DistributionKey[]> {
    const [distributionId] = distributionIds
    if (distributionId === undefined) return []
    if (distributionIds.length === 1) return keys.read(await this.executor.all(keysOf, { distributionId }))
    return keys.read(await this.executor.ask((db) => keysOfAll(db, distributionIds)))
  }
}

export class DistributionKeyTxVerbs extends DistributionKeyReadVerbs {
  insert(...values: DistributionKey[]): Promise<void> {
    return keys.insert(this.executor, values)
  }

  delete(id: string): Promise<void> {
    return keys.delete(this.executor, id)
  }

  async clear(distributionId: string): Promise<void> {
    await this.executor.run(forgetKeys, { id: distributionId })
  }
}
