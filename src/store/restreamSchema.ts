import type { TargetStatus } from '../core/restream/state.ts'
import { NUMBER, SERIAL, TEXT, TEXT_OR_NULL } from './columns.ts'

/** What the targets of feeds used and what became of them, as both SQL dialects see it. */
export const RESTREAM_TABLES = {
  /** By feed and hour: how long targets took media, and the bytes of their connections. */
  restream_hourly: {
    account_id: TEXT,
    hour_ms: NUMBER,
    stream_name: TEXT,
    feed_id: TEXT,
    live_ms: NUMBER,
    bytes_in: NUMBER,
    bytes_out: NUMBER,
  },
  /** Each status that a target got. `ord`: its place in the list of the token; `url` has no secrets. */
  restream_events: {
    id: SERIAL,
    account_id: TEXT,
    stream_name: TEXT,
    feed_id: TEXT,
    ord: NUMBER,
    label: TEXT,
    url: TEXT,
    status: TEXT as TargetStatus,
    problem: TEXT_OR_NULL,
    at_ms: NUMBER,
  },
}
