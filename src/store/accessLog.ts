import type { Action, Protocol, RefusalCode } from '../core/access/types.ts'
import type { SessionLimitCode } from '../core/sessions/slots.ts'

// The part of the store's interface that the access log needs. Import it from `store.ts`, which is the one door.

/** One recorded decision, or one refusal with its repeats. `id` is 22 time-ordered characters made by the writer. */
export interface AccessLogRow {
  id: string
  accountId: string
  /** Of the first. */
  atMs: number
  /** `live`: somebody really connected. `check`: a dry run through the API or the command line. */
  source: 'live' | 'check'
  action: Action
  protocol: Protocol
  streamName: string
  tokenId: number | null
  jti: string | null
  address: string
  origin: string | null
  country: string | null
  allowed: boolean
  code: RefusalCode | SessionLimitCode | null
  message: string
  /** How many it stands for. */
  count: number
  /** Of the last. */
  lastAtMs: number
}

export interface AccessLogQuery {
  accountId: string
  tokenId?: number
  streamName?: string
  address?: string
  code?: string
  allowed?: boolean
  /** Inclusive and exclusive, epoch milliseconds, of the first. */
  fromMs?: number
  untilMs?: number
  /** Rows strictly older than this position; newest first. */
  after?: { atMs: number; id: string }
  limit: number
}

export interface AccessLogReads {
  page(query: AccessLogQuery): Promise<AccessLogRow[]>
}

export interface AccessLogTx {
  /** Rows that are there already take the new `count` and `lastAtMs`: totals, so that it may be repeated. */
  append(rows: readonly AccessLogRow[]): Promise<void>
  /** Deletes at most `limit` rows that are older; answers how many it deleted. */
  prune(beforeMs: number, limit: number): Promise<number>
}
