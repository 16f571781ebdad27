import { FLAG, NUMBER, TEXT } from './columns.ts'

/** Viewers of streams, as both SQL dialects see it. */
export const VIEWER_TABLES = {
  /** The viewers of a stream at a node that serves them. The row is deleted with its node. */
  stream_nodes: { account_id: TEXT, stream_name: TEXT, node_id: TEXT, whep: NUMBER, hls: NUMBER, bitrate_out: NUMBER },
  /** What limits viewers, by `core/access/viewerLimits.ts`, with how many have a seat of it. None: there is no row. */
  viewer_holders: { holder: TEXT, viewers: NUMBER },
  /** The seats that viewers have. One viewer over HLS may have sessions at several nodes, and has one seat. */
  viewer_seats: { holder: TEXT, viewer: TEXT, session_id: TEXT, node_id: TEXT },
  /** By stream: the last attempt to view it off the air, and whether it has, or just had, viewers. */
  viewing: { account_id: TEXT, stream_name: TEXT, attempt_at_ms: NUMBER, viewed: FLAG },
  /** By stream and hour, UTC day or UTC month. Empty stream: all of the account. */
  audience: {
    account_id: TEXT,
    span: TEXT as 'hour' | 'day' | 'month',
    stream_name: TEXT,
    at_ms: NUMBER,
    views: NUMBER,
    watch_ms: NUMBER,
    /** At once. */
    most: NUMBER,
    /** A sketch of who they were, from which they can be counted and not be read. */
    viewers: TEXT,
    /** JSON: sums of what players reported; empty: none did. */
    quality: TEXT,
    /** JSON: the same by protocol, country, site, device and browser. */
    parts: TEXT,
  },
}
