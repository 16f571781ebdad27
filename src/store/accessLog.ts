import type { AccessLogFilter, LogSource } from '../core/access/logQuery.ts'
import type { Protocol } from '../core/access/protocols.ts'
import type {
  EncryptionRefusal,
  INVALID_MEDIA,
  INVALID_PARAMETER,
  NODE_REDIRECT,
  SessionLimitCode,
  TICKET_SHARED,
} from '../core/access/refusals.ts'
import type { Action, RefusalCode, TraceStep } from '../core/access/types.ts'

// The store's interface for the access log. Import it from `store.ts`.

/** One recorded decision, or one refusal with its repeats. The writer creates `id`: 22 time-ordered characters. */
export interface AccessLogRow {
  id: string
  accountId: string
  /** Time of the first, epoch milliseconds. */
  atMs: number
  source: LogSource
  action: Action
  protocol: Protocol
  streamName: string
  tokenId: number | null
  jti: string | null
  address: string
  origin: string | null
  country: string | null
  allowed: boolean
  code:
    | RefusalCode
    | EncryptionRefusal
    | SessionLimitCode
    | typeof NODE_REDIRECT.code
    | typeof TICKET_SHARED.code
    | typeof INVALID_PARAMETER
    | typeof INVALID_MEDIA
    | null
  message: string
  /** The number of decisions in this row. */
  count: number
  /** Time of the last, epoch milliseconds. */
  lastAtMs: number
  /** The steps of the first decision, bounded. Null: a limit refused before a decision. */
  trace: readonly TraceStep[] | null
}

/** How often decisions with one code were recorded; null: allowed. */
export interface CodeCount {
  readonly code: string | null
  readonly count: number
}

export interface CodeCountQuery {
  readonly accountId: string
  /** Inclusive and exclusive, epoch milliseconds. */
  readonly fromMs: number
  readonly untilMs: number
  readonly source?: AccessLogRow['source']
}

export interface AccessLogQuery extends AccessLogFilter {
  accountId: string
  /** Rows strictly older than this position; newest first. */
  after?: { atMs: number; id: string }
  limit: number
}

export interface AccessLogReads {
  page(query: AccessLogQuery): Promise<AccessLogRow[]>
  get(accountId: string, id: string): Promise<AccessLogRow | undefined>
  /** Counts with repeats, in no order. */
  countCodes(query: CodeCountQuery): Promise<CodeCount[]>
}

export interface AccessLogTx {
  /** Inserts rows; an existing one gets the new `count` and `lastAtMs`. Both are totals, so the call is idempotent. */
  append(rows: readonly AccessLogRow[]): Promise<void>
  /** Deletes at most `limit` older rows; returns how many. */
  prune(beforeMs: number, limit: number): Promise<number>
}
