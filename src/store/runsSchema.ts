import { FLAG, NUMBER, NUMBER_OR_NULL, TEXT, TEXT_OR_NULL } from './columns.ts'

/** The tables of runs and schedulers, as both SQL dialects see them. */
export const RUN_TABLES = {
  engine_states: {
    engine_id: TEXT,
    account_id: TEXT,
    channel_id: TEXT,
    wanted: FLAG,
    idle_since_ms: NUMBER_OR_NULL,
    failures: NUMBER,
    retry_at_ms: NUMBER_OR_NULL,
    /** The node that runs the engine; `alive_until_ms` is the end of its lease. */
    node: TEXT_OR_NULL,
    alive_until_ms: NUMBER_OR_NULL,
    run_id: TEXT_OR_NULL,
  },
  /** The newest publisher of each push ingest. */
  ingest_claims: {
    ingest_id: TEXT,
    /** The node that it is connected to; `alive_until_ms` is the end of its claim. */
    node: TEXT,
    connected_at_ms: NUMBER,
    /** When the claim came from another node; 0: it is the first one. */
    since_ms: NUMBER,
    alive_until_ms: NUMBER,
  },
  runs: {
    id: TEXT,
    account_id: TEXT,
    channel_id: TEXT,
    engine_id: TEXT,
    /** JSON */
    config: TEXT,
    start_type: TEXT,
    start_id: TEXT,
    /** The names of actors are of that time; null: none is known. */
    start_name: TEXT_OR_NULL,
    stop_type: TEXT_OR_NULL,
    stop_id: TEXT_OR_NULL,
    stop_name: TEXT_OR_NULL,
    kept_by: TEXT_OR_NULL,
    started_at_ms: NUMBER,
    ended_at_ms: NUMBER_OR_NULL,
    heartbeat_at_ms: NUMBER,
  },
  schedulers: {
    id: TEXT,
    account_id: TEXT,
    name: TEXT,
    enabled: FLAG,
    start_date: TEXT,
    start_time: TEXT,
    end_date: TEXT_OR_NULL,
    end_time: TEXT_OR_NULL,
    recurrence: TEXT_OR_NULL,
    time_zone: TEXT,
    /** JSON: `[{channelId, engineIds?}]` */
    channels: TEXT,
    status: TEXT as 'idle' | 'active' | 'terminated',
    occurrence_start_ms: NUMBER_OR_NULL,
    occurrence_end_ms: NUMBER_OR_NULL,
    seen_until_ms: NUMBER,
    next_at_ms: NUMBER_OR_NULL,
    created_at_ms: NUMBER,
    updated_at_ms: NUMBER,
  },
  channel_events: { id: TEXT, account_id: TEXT, at_ms: NUMBER, type: TEXT, data: TEXT },
  scheduler_skips: { scheduler_id: TEXT, start_ms: NUMBER, end_ms: NUMBER_OR_NULL, at_ms: NUMBER, reason: TEXT },
}
