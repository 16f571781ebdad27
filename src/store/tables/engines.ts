import { sql } from 'kysely'
import type { ActiveStatus, Engine, EngineMessage } from '../../core/channels/types.ts'
import { noticeText } from '../../core/notices.ts'
import { inSlices, statement, Verbs } from '../executor.ts'
import { columnsOf } from '../schema.ts'
import type { ChildListQuery } from '../store.ts'
import { newestFirst } from './keyset.ts'
import { forgetEngineStates } from './engineStates.ts'
import { PartStatements } from './resource.ts'

const engines = new PartStatements<'engines', Engine>('engines', {
  toRow: (engine) => ({
    id: engine.id,
    account_id: engine.accountId,
    channel_id: engine.channelId,
    ingest_id: engine.ingestId,
    name: engine.name,
    region: engine.region,
    abr_ladder_id: engine.abrLadderId,
    priority: engine.priority,
    restream: JSON.stringify(engine.restream),
    target_keys_sealed: engine.targetKeysSealed,
    status: engine.status,
    ...messageRow(engine.statusMessage),
    created_at_ms: engine.createdAtMs,
    updated_at_ms: engine.updatedAtMs,
  }),
  fromRow: (row) => ({
    id: row.id,
    accountId: row.account_id,
    channelId: row.channel_id,
    ingestId: row.ingest_id,
    name: row.name,
    region: row.region,
    abrLadderId: row.abr_ladder_id,
    priority: row.priority,
    restream: JSON.parse(row.restream) as Engine['restream'],
    targetKeysSealed: row.target_keys_sealed,
    status: row.status,
    statusMessage: messageOf(row),
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
  }),
  unchanged: ['status', 'status_message', 'status_sentences'],
})

interface MessageRow {
  readonly status_message: string | null
  readonly status_sentences: string | null
}

const messageRow = (message: EngineMessage | null): MessageRow => ({
  status_message: message?.text ?? null,
  status_sentences: message === null || message.sentences.length === 0 ? null : JSON.stringify(message.sentences),
})

/** A version that knows no sentences leaves those of an earlier message. */
function messageOf({ status_message: text, status_sentences: json }: MessageRow): EngineMessage | null {
  if (text === null) return null
  const sentences = json === null ? [] : (JSON.parse(json) as EngineMessage['sentences'])
  return { text, sentences: noticeText(sentences) === text ? sentences : [] }
}

const unstopped = statement((db, _none: object) =>
  db
    .selectFrom('engines')
    .select(columnsOf('engines'))
    // A literal, because the planner cannot match a partial index with a parameter.
    .where('status', '<>', sql.lit('stopped' as const))
    .orderBy('created_at_ms')
    .orderBy('id'),
)

const setStatus = statement((db, p: MessageRow & { id: string; status: ActiveStatus }) =>
  db
    .updateTable('engines')
    .set({ status: p.status, status_message: p.status_message, status_sentences: p.status_sentences })
    .where('id', '=', p.id),
)

const remove = statement((db, p: { id: string }) =>
  db.deleteFrom('engines').where('id', '=', p.id).returning('channel_id'),
)

const usingLadder = statement((db, p: { abrLadderId: string }) =>
  db
    .selectFrom('engines')
    .select(columnsOf('engines'))
    .where('abr_ladder_id', '=', p.abrLadderId)
    .orderBy('id')
    .limit(1),
)

export class EngineReadVerbs extends Verbs {
  get(accountId: string, id: string): Promise<Engine | undefined> {
    return engines.get(this.executor, accountId, id)
  }

  async page(query: ChildListQuery): Promise<Engine[]> {
    const rows = await this.executor.ask((db) => {
      const all = db.selectFrom('engines').select(columnsOf('engines'))
      const own =
        'ingestId' in query
          ? all.where('ingest_id', '=', query.ingestId)
          : all.where('channel_id', '=', query.channelId)
      return newestFirst(own, ['created_at_ms', 'id'], query)
    })
    return engines.read(rows)
  }

  ofChannel(channelId: string): Promise<Engine[]> {
    return engines.ofChannel(this.executor, channelId)
  }

  count(channelId: string): Promise<number> {
    return engines.count(this.executor, channelId)
  }

  async all(ids: readonly string[]): Promise<Engine[]> {
    const found: Engine[] = []
    await inSlices(ids, async (slice) => {
      const rows = await this.executor.ask((db) =>
        db.selectFrom('engines').select(columnsOf('engines')).where('id', 'in', slice),
      )
      found.push(...engines.read(rows))
    })
    return found
  }

  async unstopped(): Promise<Engine[]> {
    return engines.read(await this.executor.all(unstopped, {}))
  }
}

export class EngineTxVerbs extends EngineReadVerbs {
  insert(...values: Engine[]): Promise<void> {
    return engines.insert(this.executor, values)
  }

  replace(value: Engine): Promise<void> {
    return engines.replace(this.executor, value)
  }

  async setStatus(id: string, status: ActiveStatus, message: EngineMessage | null): Promise<void> {
    await this.executor.run(setStatus, { id, status, ...messageRow(message) })
  }

  async delete(id: string): Promise<void> {
    const engine = await this.executor.first(remove, { id })
    if (engine) await forgetEngineStates(this.executor, engine.channel_id)
  }

  async usingLadder(abrLadderId: string): Promise<Engine | undefined> {
    return engines.read(await this.executor.all(usingLadder, { abrLadderId }))[0]
  }
}
