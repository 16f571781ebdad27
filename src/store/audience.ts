import type { TimeSpan } from '../base/time.ts'
import type { WatchedSession } from '../core/audience/measure.ts'
import type { ViewerSession } from '../core/audience/records.ts'
import type { AudienceRow } from '../core/audience/slots.ts'
import type { CountryViews, PublishedFeed } from '../core/audience/watched.ts'

/** Rows of one stream, or of all streams of an account as one. */
export interface AudienceQuery extends Pick<AudienceRow, 'accountId' | 'streamName' | 'length'> {
  /** Half open. */
  readonly fromMs: number
  readonly untilMs: number
  /** Without them, `parts` is empty. */
  readonly withParts: boolean
}

/** Half open. */
export interface PublishedQuery {
  readonly accountId: string
  readonly fromMs: number
  readonly untilMs: number
  /** Absent: all. */
  readonly streamNames?: readonly string[]
  readonly limit: number
}

/** Rows of these streams; an empty name: of all streams of the account as one. */
export interface CountriesQuery extends PublishedQuery, Pick<AudienceRow, 'length'> {
  readonly streamNames: readonly string[]
}

export interface ViewerSessionQuery {
  readonly accountId: string
  /** Both exclusive. */
  readonly after: string
  readonly before: string
  readonly limit: number
}

export interface AudienceReads {
  /** The beginning of the first hour that is not written yet; 0: none is. */
  nextHour(): Promise<number>
  /** The beginning of the first session of a viewer; null: none is stored. Reads all sessions: call it once. */
  firstSession(): Promise<number | null>
  /**
   * The sessions of viewers that got media and were open in a time, of all accounts. Open ones last until `untilMs`.
   * @param seed of the hashes of viewers
   */
  sessions(span: TimeSpan, seed: number): Promise<WatchedSession[]>
  /** The sessions of an account's viewers between two ids, oldest first. An id begins with the time of admission. */
  range(query: ViewerSessionQuery): Promise<ViewerSession[]>
  /** Feeds that were on the air in a time, in no order. */
  published(query: PublishedQuery): Promise<PublishedFeed[]>
  /** The countries of rows, without their viewers: by stream, time and country. */
  countries(query: CountriesQuery): Promise<CountryViews[]>
  /** In the order of time. */
  slots(query: AudienceQuery): Promise<AudienceRow[]>
  /** Those of each stream of the account, at most `limit`. */
  streams(query: Omit<AudienceQuery, 'streamName'> & { readonly limit: number }): Promise<AudienceRow[]>
}

export interface AudienceTx extends AudienceReads {
  /** The rows of a time, of all accounts and streams. */
  at(length: AudienceRow['length'], atMs: number): Promise<AudienceRow[]>
  /** Marks the hour as written. False: another node has written it. */
  advance(fromMs: number, toMs: number): Promise<boolean>
  /** Deletes the rows that begin at a time or later, of all accounts. */
  forget(length: AudienceRow['length'], fromMs: number): Promise<void>
  /** Replaces rows. */
  put(rows: readonly AudienceRow[]): Promise<void>
  /** Deletes at most `limit` older rows; returns how many. A month goes with its last day. */
  prune(beforeMs: number, limit: number): Promise<number>
}
