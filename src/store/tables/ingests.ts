import type { IngestAudio } from '../../core/channels/types.ts'
import { inSlices, statement, Verbs } from '../executor.ts'
import { columnsOf } from '../schema.ts'
import type { Newest, PushRules, StoredIngest } from '../store.ts'
import { newestFirst } from './keyset.ts'
import { PartStatements } from './resource.ts'

const ingests = new PartStatements<'ingests', StoredIngest>('ingests', {
  toRow: (ingest) => ({
    id: ingest.id,
    account_id: ingest.accountId,
    channel_id: ingest.channelId,
    name: ingest.name,
    type: ingest.type,
    region: ingest.region,
    secret_sealed: ingest.secretSealed,
    key_hash: ingest.keyHash,
    audio: JSON.stringify(ingest.audio),
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
    audio: JSON.parse(row.audio) as IngestAudio[],
    createdAtMs: row.created_at_ms,
  }),
  unchanged: [],
})

const byKeyHash = statement((db, p: { hash: Uint8Array }) =>
  db.selectFrom('ingests').select(columnsOf('ingests')).where('key_hash', '=', p.hash),
)

export class IngestReadVerbs extends Verbs {
  get(accountId: string, id: string): Promise<StoredIngest | undefined> {
    return ingests.get(this.executor, accountId, id)
  }

  async page(query: Newest & { channelId: string }): Promise<StoredIngest[]> {
    const rows = await this.executor.ask((db) => {
      const all = db.selectFrom('ingests').select(columnsOf('ingests')).where('channel_id', '=', query.channelId)
      return newestFirst(all, ['created_at_ms', 'id'], query)
    })
    return ingests.read(rows)
  }

  ofChannel(channelId: string): Promise<StoredIngest[]> {
    return ingests.ofChannel(this.executor, channelId)
  }

  count(channelId: string): Promise<number> {
    return ingests.count(this.executor, channelId)
  }

  async findByKeyHash(hash: Uint8Array): Promise<StoredIngest | undefined> {
    return ingests.read(await this.executor.all(byKeyHash, { hash }))[0]
  }

  async pushRules(ids: readonly string[]): Promise<Map<string, PushRules>> {
    const found = new Map<string, PushRules>()
    await inSlices(ids, async (slice) => {
      const rows = await this.executor.ask((db) =>
        db.selectFrom('ingests').select(['id', 'key_hash', 'type', 'audio']).where('id', 'in', slice),
      )
      for (const { id, key_hash: keyHash, type, audio } of rows)
        if (keyHash !== null) found.set(id, { keyHash, type, audio: JSON.parse(audio) as IngestAudio[] })
    })
    return found
  }
}

export class IngestTxVerbs extends IngestReadVerbs {
  insert(...values: StoredIngest[]): Promise<void> {
    return ingests.insert(this.executor, values)
  }

  replace(value: StoredIngest): Promise<void> {
    return ingests.replace(this.executor, value)
  }

  delete(id: string): Promise<void> {
    return ingests.delete(this.executor, id)
  }
}
