import { FLAG, FLAG_OR_NULL, NUMBER, NUMBER_OR_NULL, TEXT, TEXT_OR_NULL } from './columns.ts'

/** Processes that serve, as both SQL dialects see them. */
export const NODE_TABLES = {
  /** Processes that serve. */
  serving_nodes: {
    id: TEXT,
    host_key: TEXT,
    pid: NUMBER,
    seen_at_ms: NUMBER,
    alive_until_ms: NUMBER,
    url: TEXT_OR_NULL,
    /** The id of the key that it seals with. */
    key_id: TEXT_OR_NULL,
    /** When it was asked to drain; null: it was not. */
    draining_since_ms: NUMBER_OR_NULL,
  },
  /**
   * The load is null until it is measured. `full_reasons`: words with commas between; empty: none. `links`: JSON. Ports are null for
   * nodes that do not say them.
   */
  node_facts: {
    node_id: TEXT,
    version: TEXT,
    cores: NUMBER,
    cpu_percent: NUMBER_OR_NULL,
    media_percent: NUMBER_OR_NULL,
    egress_bitrate: NUMBER_OR_NULL,
    full_reasons: TEXT_OR_NULL,
    rtmp_port: NUMBER_OR_NULL,
    rtmps_port: NUMBER_OR_NULL,
    links: TEXT_OR_NULL,
    /** Null: it has none. */
    region: TEXT_OR_NULL,
    /** When the load was written, by the time of the database; null: by a version that did not say. */
    reported_at_ms: NUMBER_OR_NULL,
    /** The latest media process that ended by itself or hung, and the sessions that it had; null: none did. */
    media_ended_at_ms: NUMBER_OR_NULL,
    media_ended_hung: FLAG_OR_NULL,
    media_ended_sessions: NUMBER_OR_NULL,
  },
  /**
   * Requests to a serving node: to read its configuration again, or, if `report` is not null, to say this of itself. `answer` is
   * JSON; null until the node answered.
   */
  reload_requests: {
    id: TEXT,
    node_id: TEXT,
    is_check: FLAG,
    asked_at_ms: NUMBER,
    answer: TEXT_OR_NULL,
    report: TEXT_OR_NULL,
  },
}
