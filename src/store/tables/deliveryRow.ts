import { sql } from 'kysely'
import { fieldsOf, type FieldsOf, rowOf } from '../records.ts'
import { saidColumn, saidFrom } from '../said.ts'
import type { NewDelivery, Payload } from '../store.ts'

// States in conditions are literals, because the planner cannot match a partial index with a parameter.
export const PENDING = sql.lit('pending' as const)
export const STARTED = sql.lit('started' as const)
export const WAITING = sql.lit('waiting' as const)

const MADE_WITH = [
  'id',
  'event_id',
  'webhook_id',
  'account_id',
  'type',
  'event',
  'subject',
  'state',
  'created_at_ms',
  'ended_at_ms',
  'error',
] as const

export const DELIVERY_COLUMNS = fieldsOf('deliveries', [
  ...MADE_WITH,
  'started_at_ms',
  'status_code',
  'duration_ms',
  'answer',
  'redelivery_of',
])

export const toDeliveryRow = (row: NewDelivery) =>
  rowOf('deliveries', [...MADE_WITH, 'attempt'], {
    ...row,
    endedAtMs: row.state === 'skipped' ? row.createdAtMs : null,
    error: row.error && saidColumn(row.error),
    attempt: row.attempt ?? null,
  })

/** A delivery, and whatever else was read beside it. */
export const fromDeliveryRow = <R extends { readonly error: string | null }>({ error, ...row }: R) => ({
  ...row,
  error: saidFrom(error),
})

export const PAYLOAD_COLUMNS = fieldsOf('delivery_payloads', ['body', 'content_type', 'headers'])

/** Null while the bytes are not stored. */
export function fromPayloadRow({
  body,
  contentType,
  headers,
}: FieldsOf<'delivery_payloads', 'body' | 'content_type' | 'headers'>): Payload | null {
  if (body === null || contentType === null || headers === null) return null
  return { body, contentType, headers: JSON.parse(headers) as Payload['headers'] }
}
