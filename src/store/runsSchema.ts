import type { DbBoolean } from './columns.ts'

/** The tables of runs and schedulers, as both SQL dialects see them. */
export interface RunTables {
  engine_states: EngineStateTable
  encoders: EncoderTable
  runs: RunTable
  schedulers: SchedulerTable
  channel_events: { id: string; account_id: string; at_ms: number; type: string; data: string }
  scheduler_skips: { scheduler_id: string; start_ms: number; end_ms: number | null; at_ms: number; reason: string }
}

export interface EngineStateTable {
  engine_id: string
  account_id: string
  channel_id: string
  wanted: DbBoolean
  idle_since_ms: number | null
  failures: number
  retry_at_ms: number | null
  /** The node that runs the engine; `alive_until_ms` is the end of its lease. */
  node: string | null
  alive_until_ms: number | null
  run_id: string | null
}

/** The newest encoder of each push ingest. */
export interface EncoderTable {
  ingest_id: string
  /** The node that it is connected to; `alive_until_ms` is the end of its claim. */
  node: string
  connected_at_ms: number
  /** When the claim came from another node; 0: it is the first one. */
  since_ms: number
  alive_until_ms: number
}

export interface RunTable {
  id: string
  account_id: string
  channel_id: string
  engine_id: string
  /** JSON */
  config: string
  start_type: string
  start_id: string
  /** The names of actors are of that time; null: none is known. */
  start_name: string | null
  stop_type: string | null
  stop_id: string | null
  stop_name: string | null
  kept_by: string | null
  started_at_ms: number
  ended_at_ms: number | null
  heartbeat_at_ms: number
}

export interface SchedulerTable {
  id: string
  account_id: string
  name: string
  enabled: DbBoolean
  start_date: string
  start_time: string
  end_date: string | null
  end_time: string | null
  recurrence: string | null
  time_zone: string
  /** JSON: `[{channelId, engineIds?}]` */
  channels: string
  status: 'idle' | 'active' | 'terminated'
  occurrence_start_ms: number | null
  occurrence_end_ms: number | null
  seen_until_ms: number
  next_at_ms: number | null
  created_at_ms: number
  updated_at_ms: number
}
