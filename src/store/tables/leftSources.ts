import { type RawBuilder, sql } from 'kysely'
import { eventWithoutSource, withoutSource } from '../../base/withoutSource.ts'
import { type DialectName, statement, Verbs } from '../executor.ts'
import { lockRows } from './lockRows.ts'

// Earlier versions wrote the sources of pulls into rows. A server of this version removes them, also from rows that a
// server of an earlier version still writes. Delete this file once upgrades from those versions are no longer supported.

/** Identical to the expression in migration 0011, so that its indexes match. */
const hasSource = (engine: DialectName, column: 'before' | 'after' | 'config'): RawBuilder<boolean> => {
  const find = sql.raw(engine === 'postgres' ? 'strpos' : 'instr')
  return sql<boolean>`${find}(${sql.ref(column)}, ',"url":') > 0`
}

const ofAudit = statement((db, p: { limit: number }, engine) => {
  const rows = db
    .selectFrom('audit')
    .select(['id', 'before', 'after'])
    .where('action', 'in', [sql.lit('ingest.updated'), sql.lit('ingest.deleted')])
    .where((eb) => eb.or([hasSource(engine, 'before'), hasSource(engine, 'after')]))
    .orderBy('id')
    .limit(p.limit)
  return lockRows(engine, rows, 'update skip locked')
})

const ofRuns = statement((db, p: { limit: number }, engine) => {
  const rows = db
    .selectFrom('runs')
    .select(['id', 'config'])
    .where(hasSource(engine, 'config'))
    .orderBy('id')
    .limit(p.limit)
  return lockRows(engine, rows, 'update skip locked')
})

const putAudit = statement((db, p: { id: number; before: string | null; after: string | null }) =>
  db.updateTable('audit').set({ before: p.before, after: p.after }).where('id', '=', p.id),
)

const putRun = statement((db, p: { id: string; config: string }) =>
  db.updateTable('runs').set({ config: p.config }).where('id', '=', p.id),
)

/** The verbs of leftSources in a transaction. */
export class LeftSourceTxVerbs extends Verbs {
  async ofAudit(limit: number): Promise<number> {
    const rows = await this.executor.all(ofAudit, { limit })
    for (const { id, before, after } of rows) {
      await this.executor.run(putAudit, { id, before: before && withoutUrl(before), after: after && withoutUrl(after) })
    }
    return rows.length
  }

  async ofRuns(limit: number): Promise<number> {
    const rows = await this.executor.all(ofRuns, { limit })
    for (const { id, config } of rows) {
      const { ingest, ...rest } = JSON.parse(config) as { ingest: object }
      await this.executor.run(putRun, { id, config: JSON.stringify({ ingest: withoutField(ingest), ...rest }) })
    }
    return rows.length
  }

  /** Removes addresses from deliveries that were created before `untilMs`. Skips rows beyond `limit` in one millisecond. */
  async ofDeliveries(untilMs: number, limit: number): Promise<number> {
    const fromMs = (await this.executor.first(doneUntil, {}))?.value ?? 0
    if (untilMs - fromMs < STEP_MS) return 0
    const rows = await this.executor.all(ofDeliveries, { fromMs, untilMs, limit })
    for (const { id, data, body } of rows) {
      const text = body && new TextDecoder().decode(body)
      const masked = text && eventWithoutSource(text)
      if (masked === text && eventWithoutSource(data) === data) continue
      await this.executor.run(putPayload, {
        id,
        data: eventWithoutSource(data),
        body: masked === null ? null : Buffer.from(masked),
      })
    }
    const last = rows.at(-1)?.created_at_ms ?? fromMs
    await this.executor.run(setDone, { value: rows.length < limit ? untilMs : Math.max(last, fromMs + 1) })
    return rows.length
  }

  /** Removes addresses from messages of ffmpeg. There are few engines, so it checks all of them. */
  async ofEngines(): Promise<void> {
    for (const { id, status_message: was } of await this.executor.all(withAddress, {})) {
      if (was !== null) await this.executor.run(putMessage, { id, was, message: withoutSource(was, '') })
    }
  }
}

const withoutUrl = (json: string): string => JSON.stringify(withoutField(JSON.parse(json) as object))

const withoutField = (given: object): object => ({ ...given, url: undefined })

const withAddress = statement((db) =>
  db.selectFrom('engines').select(['id', 'status_message']).where('status_message', 'like', sql.lit('%://%')),
)

const putMessage = statement((db, p: { id: string; was: string; message: string }) =>
  db
    .updateTable('engines')
    .set({ status_message: p.message })
    .where('id', '=', p.id)
    .where('status_message', '=', p.was),
)

const DONE = 'deliveries_without_sources'
/** How often deliveries are checked at most. */
const STEP_MS = 600_000

const doneUntil = statement((db) => db.selectFrom('meta').select('value').where('key', '=', DONE))

const setDone = statement((db, p: { value: number }) =>
  db.updateTable('meta').set({ value: p.value }).where('key', '=', DONE),
)

const ofDeliveries = statement((db, p: { fromMs: number; untilMs: number; limit: number }) =>
  db
    .selectFrom('deliveries')
    .innerJoin('delivery_payloads', 'delivery_payloads.id', 'deliveries.id')
    .select(['deliveries.id', 'created_at_ms', 'data', 'body'])
    .where('type', '=', 'live')
    .where('event', 'in', ['engine.error', 'engine.log.warn', 'engine.log.error'])
    .where('created_at_ms', '>=', p.fromMs)
    .where('created_at_ms', '<', p.untilMs)
    .orderBy('created_at_ms')
    .limit(p.limit),
)

const putPayload = statement((db, p: { id: string; data: string; body: Uint8Array | null }) =>
  db.updateTable('delivery_payloads').set({ data: p.data, body: p.body }).where('id', '=', p.id),
)
