import type { SlotLength } from '../core/zonedSlots.ts'
import { NUMBER, TEXT } from './columns.ts'

/** What bytes count for. Unknown: 0 or empty. */
const USAGE = {
  account_id: TEXT,
  stream_name: TEXT,
  protocol: TEXT,
  token_id: NUMBER,
  tracking_id: TEXT,
  country: TEXT,
  bytes_in: NUMBER,
  bytes_out: NUMBER,
} as const

/** The tables of bytes and minutes, as both SQL dialects see them. */
export const USAGE_TABLES = {
  /** By account, minute and node: the most viewers at once, and bytes. */
  account_minutes: {
    account_id: TEXT,
    minute_ms: NUMBER,
    node: TEXT,
    viewers: NUMBER,
    bytes_in: NUMBER,
    bytes_out: NUMBER,
  },
  /**
   * By hour, UTC day and UTC month. Empty stream: all of the account, without token and tracking id. A row by day or month is
   * always the sum of the rows by hour, because all are written in the same transaction.
   */
  usage: {
    ...USAGE,
    span: TEXT as SlotLength,
    at_ms: NUMBER,
    /** The part of `bytes_out` that caches sent. */
    cache_bytes: NUMBER,
  },
  /**
   * The part of the sums that a serving node has not added to them yet: totals of a key and an hour at that node. `ord` is
   * unique there.
   */
  node_usage: {
    node_id: TEXT,
    ord: NUMBER,
    hour_ms: NUMBER,
    ...USAGE,
  },
  /** How far each log of a cache is counted. */
  cache_logs: { id: TEXT, position: NUMBER, counted_at_ms: NUMBER },
}
