import { isoTime } from '../../base/time.ts'
import { CLUSTER } from '../clusters.ts'
import { VIEWER_QUALITY, type ViewerQuality } from '../quality/viewerQuality.ts'
import { csvLine } from '../usage/csv.ts'
import { siteOfOrigin } from './families.ts'

/** A session of a viewer as the store has it. */
export interface ViewerSession {
  readonly id: string
  readonly streamName: string
  readonly protocol: string
  readonly trackingId: string | null
  /** As the claim of a self-signed token. */
  readonly customViewerData: string | null
  readonly jti: string | null
  /** Null: it was forgotten. */
  readonly address: string | null
  readonly origin: string | null
  readonly country: string | null
  readonly device: string | null
  readonly browser: string | null
  readonly startedAtMs: number
  readonly endedAtMs: number | null
  readonly endReason: string | null
  readonly bytesOut: number
  /** Sent to it by caches, beside `bytesOut`. */
  readonly bytesFromCaches: number
  /** Null: its player did not report. */
  readonly quality: ViewerQuality | null
}

type ColumnOf = (session: ViewerSession, nowMs: number) => string | number | null

const qualityOf =
  (name: keyof ViewerQuality): ColumnOf =>
  ({ quality }) =>
    quality?.[name] ?? null

const QUALITY_COLUMNS = Object.fromEntries(
  Object.keys(VIEWER_QUALITY).map((name) => [name, qualityOf(name as keyof ViewerQuality)]),
) as Readonly<Record<keyof ViewerQuality, ColumnOf>>

/** The columns of a record, in the order of CSV: those of hosted services, then ours. */
const COLUMNS = {
  recordId: ({ id }) => id,
  previousRecordId: () => null,
  startTime: ({ startedAtMs }) => isoTime(startedAtMs),
  endTime: ({ endedAtMs }) => (endedAtMs === null ? null : isoTime(endedAtMs)),
  duration: ({ startedAtMs, endedAtMs }, nowMs) => Math.max(0, Math.round(((endedAtMs ?? nowMs) - startedAtMs) / 1000)),
  bytes: ({ bytesOut, bytesFromCaches }) => bytesOut + bytesFromCaches,
  clientId: ({ jti }) => jti,
  clusterId: () => CLUSTER,
  country: ({ country }) => country,
  ipAddress: ({ address }) => address,
  userAgent: () => null,
  streamName: ({ streamName }) => streamName,
  trackingId: ({ trackingId }) => trackingId,
  customViewerData: ({ customViewerData }) => customViewerData,
  protocol: ({ protocol }) => protocol,
  site: ({ origin }) => siteOfOrigin(origin) || null,
  device: ({ device }) => device,
  browser: ({ browser }) => browser,
  endReason: ({ endReason }) => endReason,
  ...QUALITY_COLUMNS,
} satisfies Record<string, ColumnOf>

export type ViewerRecord = Readonly<Record<keyof typeof COLUMNS, string | number | null>>

/** @param nowMs the end of what lasts */
export const recordOf = (session: ViewerSession, nowMs: number): ViewerRecord =>
  Object.fromEntries(
    Object.entries(COLUMNS).map(([name, valueOf]) => [name, valueOf(session, nowMs)]),
  ) as unknown as ViewerRecord

/** How records are written: a line each. */
export interface RecordFormat {
  readonly type: string
  /** Before the first record. */
  readonly head: string
  readonly line: (record: ViewerRecord) => string
}

export const RECORD_FORMATS = {
  jsonl: { type: 'application/x-jsonl', head: '', line: (record) => `${JSON.stringify(record)}\n` },
  csv: {
    type: 'text/csv',
    head: `${Object.keys(COLUMNS).join()}\r\n`,
    line: (record) => `${csvLine(Object.values(record).map((value) => (value === null ? '' : String(value))))}\r\n`,
  },
} as const satisfies Record<string, RecordFormat>
