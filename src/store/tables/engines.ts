import { sql } from 'kysely'
import type { ActiveStatus, Engine, EngineMessage } from '../../core/channels/types.ts'
import { noticeText } from '../../core/notices.ts'
import { statement } from '../executor.ts'
import { fieldsOf, type FieldsOf, rowOf } from '../records.ts'
import type { ChildListQuery } from '../store.ts'
import { newestFirst } from './keyset.ts'
import { forgetEngineStates } from './engineStates.ts'
import { PartTable, PartVerbs } from './resource.ts'

const engines = new PartTable<'engines', Engine>('engines', {
  toRow: ({ statusMessage, ...engine }) => ({
    ...engine,
    restream: JSON.stringify(engine.restream),
    ...messageRow(statusMessage),
  }),
  fromRow: ({ statusMessage, statusSentences, ...row }) => ({
    ...row,
    restream: JSON.parse(row.restream) as Engine['restream'],
    statusMessage: messageOf({ statusMessage, statusSentences }),
  }),
  unchanged: ['status', 'status_message', 'status_sentences'],
})

const MESSAGE = ['status_message', 'status_sentences'] as const
type MessageRow = FieldsOf<'engines', (typeof MESSAGE)[number]>

const messageRow = (message: EngineMessage | null): MessageRow => ({
  statusMessage: message?.text ?? null,
  statusSentences: message === null || message.sentences.length === 0 ? null : JSON.stringify(message.sentences),
})

/** A version that knows no sentences leaves those of an earlier message. */
function messageOf({ statusMessage: text, statusSentences: json }: MessageRow): EngineMessage | null {
  if (text === null) return null
  const sentences = json === null ? [] : (JSON.parse(json) as EngineMessage['sentences'])
  return { text, sentences: noticeText(sentences) === text ? sentences : [] }
}

const unstopped = statement((db, _none: object) =>
  db
    .selectFrom('engines')
    .select(fieldsOf('engines'))
    // A literal, because the planner cannot match a partial index with a parameter.
    .where('status', '<>', sql.lit('stopped' as const))
    .orderBy('created_at_ms')
    .orderBy('id'),
)

const setStatus = statement((db, p: MessageRow & { id: string; status: ActiveStatus }) =>
  db
    .updateTable('engines')
    .set({ status: p.status, ...rowOf('engines', MESSAGE, p) })
    .where('id', '=', p.id),
)

const remove = statement((db, p: { id: string }) =>
  db.deleteFrom('engines').where('id', '=', p.id).returning('channel_id'),
)

const usingLadder = statement((db, p: { abrLadderId: string }) =>
  db
    .selectFrom('engines')
    .select(fieldsOf('engines'))
    .where('abr_ladder_id', '=', p.abrLadderId)
    .orderBy('id')
    .limit(1),
)

export class EngineReadVerbs extends PartVerbs<'engines', Engine> {
  protected override readonly table = engines

  async page(query: ChildListQuery): Promise<Engine[]> {
    const rows = await this.executor.ask((db) => {
      const all = db.selectFrom('engines').select(fieldsOf('engines'))
      const own =
        'ingestId' in query
          ? all.where('ingest_id', '=', query.ingestId)
          : all.where('channel_id', '=', query.channelId)
      return newestFirst(own, ['created_at_ms', 'id'], query)
    })
    return engines.read(rows)
  }

  async all(ids: readonly string[]): Promise<Engine[]> {
    const rows = await this.executor.askInSlices(ids, (db, slice) =>
      db.selectFrom('engines').select(fieldsOf('engines')).where('id', 'in', slice),
    )
    return engines.read(rows)
  }

  async unstopped(): Promise<Engine[]> {
    return engines.read(await this.executor.all(unstopped, {}))
  }
}

export class EngineTxVerbs extends EngineReadVerbs {
  async setStatus(id: string, status: ActiveStatus, message: EngineMessage | null): Promise<void> {
    await this.executor.run(setStatus, { id, status, ...messageRow(message) })
  }

  override async delete(id: string): Promise<void> {
    const engine = await this.executor.first(remove, { id })
    if (engine) await forgetEngineStates(this.executor, engine.channel_id)
  }

  async usingLadder(abrLadderId: string): Promise<Engine | undefined> {
    return engines.read(await this.executor.all(usingLadder, { abrLadderId }))[0]
  }
}
