import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/** The states of engines, their runs, the schedulers that start them, and the webhooks of the channels interface. */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  const make = new Maker(db, engine)
  await runs(make)
  await schedulers(make)
  await webhooks(db, make)
}

async function runs(make: Maker): Promise<void> {
  await make.table(
    'engine_lives',
    `engine_id text key, account_id text, channel_id text, wanted flag, idle_since_ms big null, failures big,
    retry_at_ms big null, node text null, alive_until_ms big null, run_id text null`,
  )
  await make.index('engine_lives_channel', 'engine_lives', ['channel_id'])
  await make.table(
    'runs',
    `id text key, account_id text, channel_id text, engine_id text, config text, start_type text, start_id text,
    stop_type text null, stop_id text null, started_at_ms big, ended_at_ms big null, heartbeat_at_ms big`,
  )
  await make.index('runs_channel', 'runs', ['channel_id', 'started_at_ms', 'id'])
  await make.index('runs_engine', 'runs', ['engine_id', 'started_at_ms', 'id'])
}

async function schedulers(make: Maker): Promise<void> {
  await make.table(
    'schedulers',
    `id text key, account_id text, name text, enabled flag, start_date text, start_time text, end_date text null,
    end_time text null, recurrence text null, time_zone text, channels text, status text, occurrence_start_ms big null,
    occurrence_end_ms big null, seen_until_ms big, next_at_ms big null, created_at_ms big, updated_at_ms big`,
  )
  for (const column of ['created_at_ms', 'name', 'status', 'start_date', 'start_time']) {
    await make.index(`schedulers_${column}`, 'schedulers', ['account_id', column, 'id'])
  }
  await make.index('schedulers_due', 'schedulers', ['next_at_ms'], 'next_at_ms is not null')
  await make.table('scheduler_skips', 'scheduler_id text, start_ms big, end_ms big null, at_ms big, reason text', [
    'scheduler_id',
    'start_ms',
  ])
}

/**
 * They are rows of the same table as webhooks of the token interface, with a public id, so that one runner delivers to all.
 * Their deliveries count attempts; the next attempt is `waiting` until it is due.
 */
async function webhooks(db: Kysely<unknown>, make: Maker): Promise<void> {
  const big = make.engine === 'postgres' ? 'bigint' : 'integer'
  for (const column of ['public_id', 'name', 'description', 'events'] as const) {
    await db.schema.alterTable('webhooks').addColumn(column, 'text').execute()
  }
  for (const column of ['active', 'updated_at_ms'] as const) {
    await db.schema.alterTable('webhooks').addColumn(column, big).execute()
  }
  await make.unique('webhooks_public_id', 'webhooks', ['public_id'])
  for (const column of ['attempt', 'not_before_ms'] as const) {
    await db.schema.alterTable('deliveries').addColumn(column, big).execute()
  }
  await make.index('deliveries_waiting', 'deliveries', ['not_before_ms'], "state = 'waiting'")
}
