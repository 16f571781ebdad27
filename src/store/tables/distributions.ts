import type { Distribution, DistributionRules } from '../../core/channels/types.ts'
import { type Executor, statement } from '../executor.ts'
import type { DistributionKey, DistributionListQuery } from '../store.ts'
import { columnsOf } from '../tableColumns.ts'
import { afterKey } from './keyset.ts'
import { ResourceStatements } from './resource.ts'

const distributions = new ResourceStatements<'distributions', Distribution>('distributions', {
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

const ofChannel = statement((db, p: { channelId: string }) =>
  db
    .selectFrom('distributions')
    .select(columnsOf('distributions'))
    .where('channel_id', '=', p.channelId)
    .orderBy('created_at_ms')
    .orderBy('id'),
)

const byId = statement((db, p: { id: string }) =>
  db.selectFrom('distributions').select(columnsOf('distributions')).where('id', '=', p.id),
)

const keysOf = statement((db, p: { distributionId: string }) =>
  db
    .selectFrom('distribution_keys')
    .select(columnsOf('distribution_keys'))
    .where('distribution_id', '=', p.distributionId)
    .orderBy('created_at_ms')
    .orderBy('id'),
)

const forgetKeys = statement((db, p: { id: string }) =>
  db.deleteFrom('distribution_keys').where('distribution_id', '=', p.id),
)

export const getDistribution = distributions.get.bind(distributions)
export const insertDistribution = distributions.insert.bind(distributions)
export const replaceDistribution = distributions.replace.bind(distributions)
export const insertDistributionKey = keys.insert.bind(keys)
export const deleteDistributionKey = keys.delete.bind(keys)

export async function deleteDistribution(executor: Executor, id: string): Promise<void> {
  await executor.run(forgetKeys, { id })
  await distributions.delete(executor, id)
}

export async function findDistribution(executor: Executor, id: string): Promise<Distribution | undefined> {
  return distributions.read(await executor.all(byId, { id }))[0]
}

export async function distributionsOf(executor: Executor, channelId: string): Promise<Distribution[]> {
  return distributions.read(await executor.all(ofChannel, { channelId }))
}

export async function distributionKeysOf(executor: Executor, distributionId: string): Promise<DistributionKey[]> {
  return keys.read(await executor.all(keysOf, { distributionId }))
}

export async function pageDistributions(executor: Executor, query: DistributionListQuery): Promise<Distribution[]> {
  const { channelId, after, limit } = query
  const rows = await executor.ask((db) => {
    let page = db.selectFrom('distributions').select(columnsOf('distributions')).where('channel_id', '=', channelId)
    if (after) page = page.where(afterKey(['name', 'id'], 'asc', [after.name, after.id]))
    return page.orderBy('name').orderBy('id').limit(limit)
  })
  return distributions.read(rows)
}
