import type { IngestAudio } from '../../core/channels/types.ts'
import { statement } from '../executor.ts'
import { fieldsOf } from '../records.ts'
import type { Newest, PushRules, StoredIngest } from '../store.ts'
import { newestFirst } from './keyset.ts'
import { PartTable, PartVerbs } from './resource.ts'

const ingests = new PartTable<'ingests', StoredIngest>('ingests', {
  toRow: (ingest) => ({ ...ingest, audio: JSON.stringify(ingest.audio) }),
  fromRow: (row) => ({ ...row, audio: JSON.parse(row.audio) as IngestAudio[] }),
})

const byKeyHash = statement((db, p: { hash: Uint8Array }) =>
  db.selectFrom('ingests').select(fieldsOf('ingests')).where('key_hash', '=', p.hash),
)

export class IngestVerbs extends PartVerbs<'ingests', StoredIngest> {
  protected override readonly table = ingests

  async page(query: Newest & { channelId: string }): Promise<StoredIngest[]> {
    const rows = await this.executor.ask((db) => {
      const all = db.selectFrom('ingests').select(fieldsOf('ingests')).where('channel_id', '=', query.channelId)
      return newestFirst(all, ['created_at_ms', 'id'], query)
    })
    return ingests.read(rows)
  }

  async findByKeyHash(hash: Uint8Array): Promise<StoredIngest | undefined> {
    return ingests.read(await this.executor.all(byKeyHash, { hash }))[0]
  }

  async pushRules(ids: readonly string[]): Promise<Map<string, PushRules>> {
    const rows = await this.executor.askInSlices(ids, (db, slice) =>
      db.selectFrom('ingests').select(['id', 'key_hash', 'type', 'audio']).where('id', 'in', slice),
    )
    return new Map(
      rows.flatMap(({ id, key_hash: keyHash, type, audio }) =>
        keyHash === null ? [] : [[id, { keyHash, type, audio: JSON.parse(audio) as IngestAudio[] }]],
      ),
    )
  }
}
