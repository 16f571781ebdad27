import { sql } from 'kysely'
import type { Delivery, DeliveryState, NewDelivery, Payload } from '../store.ts'
import { saidColumn, saidFrom } from '../said.ts'
import type { RowOf, NewRowOf } from '../schema.ts'

// States in conditions are literals, because the planner cannot match a partial index with a parameter.
export const PENDING = sql.lit('pending')
export const STARTED = sql.lit('started')
export const WAITING = sql.lit('waiting')

export const DELIVERY_COLUMNS = [
  'deliveries.id',
  'event_id',
  'webhook_id',
  'account_id',
  'type',
  'event',
  'subject',
  'state',
  'created_at_ms',
  'started_at_ms',
  'ended_at_ms',
  'status_code',
  'duration_ms',
  'answer',
  'error',
  'redelivery_of',
] as const

export function toDeliveryRow(row: NewDelivery): NewRowOf<'deliveries'> {
  return {
    id: row.id,
    event_id: row.eventId,
    webhook_id: row.webhookId,
    account_id: row.accountId,
    type: row.type,
    event: row.event,
    subject: row.subject,
    state: row.state,
    created_at_ms: row.createdAtMs,
    ended_at_ms: row.state === 'skipped' ? row.createdAtMs : null,
    error: row.error && saidColumn(row.error),
    attempt: row.attempt ?? null,
  }
}

export function fromDeliveryRow(row: Omit<RowOf<'deliveries'>, 'node' | 'attempt' | 'not_before_ms'>): Delivery {
  return {
    id: row.id,
    eventId: row.event_id,
    webhookId: row.webhook_id,
    accountId: row.account_id,
    type: row.type,
    event: row.event,
    subject: row.subject,
    state: row.state as DeliveryState,
    createdAtMs: row.created_at_ms,
    startedAtMs: row.started_at_ms,
    endedAtMs: row.ended_at_ms,
    statusCode: row.status_code,
    durationMs: row.duration_ms,
    answer: row.answer,
    error: saidFrom(row.error),
    redeliveryOf: row.redelivery_of,
  }
}

/** Null while the bytes are not stored. */
export function fromPayloadRow(
  row: Pick<RowOf<'delivery_payloads'>, 'body' | 'content_type' | 'headers'>,
): Payload | null {
  if (row.body === null || row.content_type === null || row.headers === null) return null
  return { body: row.body, contentType: row.content_type, headers: JSON.parse(row.headers) as Payload['headers'] }
}
