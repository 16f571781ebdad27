import type { IngestType, ActiveStatus } from '../core/channels/types.ts'
import type { DbBoolean } from './columns.ts'
import type { RunTables } from './runsSchema.ts'

/** The tables of channels, as both SQL dialects see them. */
export interface ChannelTables extends RunTables {
  channels: ChannelTable
  /** One row for each external id of a channel, for look-ups and uniqueness. */
  channel_external_ids: { account_id: string; external_id: string; channel_id: string }
  slates: SlateTable
  ingests: IngestTable
  engines: EngineTable
  abr_ladders: AbrLadderTable
  distributions: DistributionTable
  distribution_keys: DistributionKeyTable
  distribution_bytes: DistributionBytesTable
}

export interface ChannelTable {
  id: string
  account_id: string
  name: string
  external_ids: string
  timeout_seconds: number
  status: ActiveStatus
  created_at_ms: number
  /** JSON: what the slate is; its file is in `slates`. */
  slate: string | null
}

export interface SlateTable {
  id: string
  channel_id: string
  media: Uint8Array
}

export interface IngestTable {
  id: string
  account_id: string
  channel_id: string
  name: string
  type: IngestType
  region: string
  secret_sealed: Uint8Array
  key_hash: Uint8Array | null
  created_at_ms: number
}

export interface EngineTable {
  id: string
  account_id: string
  channel_id: string
  ingest_id: string | null
  name: string
  region: string
  abr_ladder_id: string
  priority: number
  status: ActiveStatus
  status_message: string | null
  created_at_ms: number
  updated_at_ms: number
}

export interface AbrLadderTable {
  id: string
  account_id: string
  name: string
  /** JSON: the renditions. */
  video: string
  audio_kbps: number | null
  audio_only: DbBoolean
  created_at_ms: number
  updated_at_ms: number
}

export interface DistributionTable {
  id: string
  account_id: string
  channel_id: string
  name: string
  /** JSON: the rules without the name. */
  rules: string
  created_at_ms: number
  updated_at_ms: number
}

export interface DistributionKeyTable {
  id: string
  account_id: string
  distribution_id: string
  name: string | null
  key_sealed: Uint8Array
  created_at_ms: number
}

export interface DistributionBytesTable {
  distribution_id: string
  slot_ms: number
  country: string
  tracking_id: string
  account_id: string
  channel_id: string
  bytes_out: number
  viewed_ms: number
  cache_bytes: number
}
