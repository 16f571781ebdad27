import { inSlices, type Executor, statement } from '../executor.ts'
import type { Newest, StoredIngest } from '../store.ts'
import { columnsOf } from '../tableColumns.ts'
import { afterKey } from './keyset.ts'
import { ResourceStatements } from './resource.ts'

const ingests = new ResourceStatements<'ingests', StoredIngest>('ingests', {
  toRow: (ingest) => ({
    id: ingest.id,
    account_id: ingest.accountId,
    channel_id: ingest.channelId,
    name: ingest.name,
    type: ingest.type,
    region: ingest.region,
    secret_sealed: ingest.secretSealed,
    key_hash: ingest.keyHash,
    created_at_ms: ingest.createdAtMs,
  }),
  fromRow: (row) => ({
    id: row.id,
    accountId: row.account_id,
    channelId: row.channel_id,
    name: row.name,
    type: row.type,
    region: row.region,
    secretSealed: row.secret_sealed,
    keyHash: row.key_hash,
    createdAtMs: row.created_at_ms,
  }),
  unchanged: [],
})

const ofChannel = statement((db, p: { channelId: string }) =>
  db
    .selectFrom('ingests')
    .select(columnsOf('ingests'))
    .where('channel_id', '=', p.channelId)
    .orderBy('created_at_ms')
    .orderBy('id'),
)

const byKeyHash = statement((db, p: { hash: Uint8Array }) =>
  db.selectFrom('ingests').select(columnsOf('ingests')).where('key_hash', '=', p.hash),
)

export const getIngest = ingests.get.bind(ingests)
export const insertIngest = ingests.insert.bind(ingests)
export const replaceIngest = ingests.replace.bind(ingests)
export const deleteIngest = ingests.delete.bind(ingests)

export async function ingestsOf(executor: Executor, channelId: string): Promise<StoredIngest[]> {
  return ingests.read(await executor.all(ofChannel, { channelId }))
}

export async function findIngestByKeyHash(executor: Executor, hash: Uint8Array): Promise<StoredIngest | undefined> {
  return ingests.read(await executor.all(byKeyHash, { hash }))[0]
}

export async function keyHashesOf(executor: Executor, ids: readonly string[]): Promise<Map<string, Uint8Array>> {
  const found = new Map<string, Uint8Array>()
  await inSlices(ids, async (slice) => {
    const rows = await executor.ask((db) =>
      db.selectFrom('ingests').select(['id', 'key_hash']).where('id', 'in', slice),
    )
    for (const { id, key_hash: hash } of rows) if (hash !== null) found.set(id, hash)
  })
  return found
}

export async function pageIngests(executor: Executor, query: Newest & { channelId: string }): Promise<StoredIngest[]> {
  const { channelId, after, limit } = query
  const rows = await executor.ask((db) => {
    let page = db.selectFrom('ingests').select(columnsOf('ingests')).where('channel_id', '=', channelId)
    if (after) page = page.where(afterKey(['created_at_ms', 'id'], 'desc', [after.atMs, after.id]))
    return page.orderBy('created_at_ms', 'desc').orderBy('id', 'desc').limit(limit)
  })
  return ingests.read(rows)
}
