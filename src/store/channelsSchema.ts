import type { IngestType, ActiveStatus } from '../core/channels/types.ts'
import { BYTES, BYTES_OR_NULL, FLAG, NUMBER, NUMBER_OR_NULL, TEXT, TEXT_OR_NULL } from './columns.ts'

/** The tables of channels, as both SQL dialects see them. */
export const CHANNEL_TABLES = {
  channels: {
    id: TEXT,
    account_id: TEXT,
    name: TEXT,
    external_ids: TEXT,
    timeout_seconds: NUMBER,
    status: TEXT as ActiveStatus,
    created_at_ms: NUMBER,
    /** JSON: what the slate is; its file is in `slates`. */
    slate: TEXT_OR_NULL,
  },
  /** One row for each external id of a channel, for look-ups and uniqueness. */
  channel_external_ids: { account_id: TEXT, external_id: TEXT, channel_id: TEXT },
  slates: { id: TEXT, channel_id: TEXT, media: BYTES },
  ingests: {
    id: TEXT,
    account_id: TEXT,
    channel_id: TEXT,
    name: TEXT,
    type: TEXT as IngestType,
    region: TEXT,
    secret_sealed: BYTES,
    key_hash: BYTES_OR_NULL,
    created_at_ms: NUMBER,
    /** JSON: the audio tracks that viewers choose from. */
    audio: TEXT,
  },
  engines: {
    id: TEXT,
    account_id: TEXT,
    channel_id: TEXT,
    ingest_id: TEXT_OR_NULL,
    name: TEXT,
    region: TEXT,
    abr_ladder_id: TEXT,
    priority: NUMBER,
    /** JSON: the targets, without their keys. */
    restream: TEXT,
    target_keys_sealed: BYTES_OR_NULL,
    status: TEXT as ActiveStatus,
    status_message: TEXT_OR_NULL,
    /** JSON. Null: the message has no codes. */
    status_sentences: TEXT_OR_NULL,
    created_at_ms: NUMBER,
    updated_at_ms: NUMBER,
  },
  abr_ladders: {
    id: TEXT,
    account_id: TEXT,
    name: TEXT,
    /** JSON: the renditions. */
    video: TEXT,
    audio_kbps: NUMBER_OR_NULL,
    audio_only: FLAG,
    created_at_ms: NUMBER,
    updated_at_ms: NUMBER,
  },
  distributions: {
    id: TEXT,
    account_id: TEXT,
    channel_id: TEXT,
    name: TEXT,
    /** JSON: the rules without the name. */
    rules: TEXT,
    created_at_ms: NUMBER,
    updated_at_ms: NUMBER,
  },
  distribution_keys: {
    id: TEXT,
    account_id: TEXT,
    distribution_id: TEXT,
    name: TEXT_OR_NULL,
    key_sealed: BYTES,
    created_at_ms: NUMBER,
  },
  distribution_bytes: {
    distribution_id: TEXT,
    slot_ms: NUMBER,
    country: TEXT,
    tracking_id: TEXT,
    account_id: TEXT,
    channel_id: TEXT,
    bytes_out: NUMBER,
    viewed_ms: NUMBER,
    cache_bytes: NUMBER,
  },
}
