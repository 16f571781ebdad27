import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/** Webhooks, their deliveries, and the nodes that send them. */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  const make = new Maker(db, engine)
  await make.table(
    'webhooks',
    `id serial, account_id text, url text, secret_sealed bytes,
    feed_hooks flag, recording_hooks flag, thumbnail_hooks flag, transcoder_hooks flag, viewer_connection_hooks flag,
    filter text null, failures_in_row big, disabled_until_ms big null, disabled_reason text null, added_at_ms big`,
  )
  await make.index('webhooks_account', 'webhooks', ['account_id', 'id'])
  await deliveries(make)
  await make.table('delivery_nodes', 'id text key, alive_until_ms big')
}

/** The row of a delivery is written three times, so its large columns are in a table of their own, written twice. */
async function deliveries(make: Maker): Promise<void> {
  await make.table(
    'deliveries',
    `id text key, event_id text, webhook_id big, account_id text, type text, event text, subject text null, state text,
    created_at_ms big, started_at_ms big null, ended_at_ms big null, status_code big null, duration_ms big null,
    answer text null, error text null, redelivery_of text null, node text null`,
  )
  await make.index('deliveries_log', 'deliveries', ['webhook_id', 'id'])
  await make.index('deliveries_pending', 'deliveries', ['webhook_id', 'id'], "state = 'pending'")
  await make.index('deliveries_started', 'deliveries', ['webhook_id', 'id'], "state = 'started'")
  await make.index('deliveries_created', 'deliveries', ['created_at_ms'])
  await make.table(
    'delivery_payloads',
    'id text key, data text, body bytes null, content_type text null, headers text null',
  )
}
