import type { Result } from '../../base/result.ts'
import { DAY_MS, isoTime } from '../../base/time.ts'
import { CONNECTION_FILTERS } from '../access/logQuery.ts'
import type { FieldErrors } from '../errors.ts'
import { saidAs } from '../notices.ts'
import { type QueryPart, readListQuery } from '../pages/listQuery.ts'
import { readSearch } from '../pages/search.ts'
import { streamIdOf } from '../streams/streamId.ts'
import { readShape } from '../validation/bodyReader.ts'
import { Problems } from '../validation/problems.ts'
import { readQuery } from '../tokens/listQuery.ts'
import { RECORDING_LINK_SECONDS, RecordingLinkQuery, SignRecording } from './signSchema.ts'
import type { Recording } from './types.ts'

export interface RecordingFilter {
  tokenId?: number
  streamName?: string
  /** A part of the stream's name, in any case of ASCII. */
  search?: string
}

const { tokenId, streamName } = CONNECTION_FILTERS

/** Parses the query of `GET /api/recordings` and reports all errors at once. */
export const readRecordingQuery = (query: Record<string, unknown>): Result<RecordingFilter & QueryPart, FieldErrors> =>
  readListQuery<RecordingFilter>(query, { tokenId, streamName, search: readSearch })

/** Parses the body of a request to sign a link: how long it is valid, seconds. */
export function readSignRecording(body: unknown): Result<number, FieldErrors> {
  const problems = new Problems()
  const reader = readShape(SignRecording, body ?? {}, problems)
  return problems.settle(reader.value('expiresInSeconds') ?? RECORDING_LINK_SECONDS.default)
}

/** The same of a query. */
export function readRecordingLink(query: Record<string, unknown>): Result<number, FieldErrors> {
  const problems = new Problems()
  const reader = readQuery(RecordingLinkQuery, query, problems)
  return problems.settle(reader.value('seconds') ?? RECORDING_LINK_SECONDS.default)
}

/**
 * When a recording that is over at `nowMs` is deleted; null: it stays.
 *
 * @param ofToken days; 0: it stays; null: the account decides
 * @param ofAccount days; null: it stays
 */
export function expiryAfter(ofToken: number | null, ofAccount: number | null, nowMs: number): number | null {
  const days = ofToken ?? ofAccount ?? 0
  return days === 0 ? null : nowMs + days * DAY_MS
}

/** The path from which a completed recording is downloaded. */
const downloadPath = (id: string): string => `/api/recordings/${id}/download`

/** A recording as the API shows it. Unknown values are left out. */
export function toRecordingRecord(recording: Recording) {
  const { endedAtMs, bytes, durationMs, problem, tracks, expiresAtMs } = recording
  return {
    id: recording.id,
    state: recording.state,
    streamName: recording.streamName,
    streamId: streamIdOf(recording),
    tokenId: recording.tokenId,
    feedId: recording.feedId,
    startedOn: isoTime(recording.startedAtMs),
    ...(endedAtMs === null ? {} : { endedOn: isoTime(endedAtMs) }),
    ...(bytes === null ? {} : { bytes }),
    ...(durationMs === null ? {} : { durationMs }),
    tracks: tracks.map((track) => ({ ...track })),
    ...saidAs('problem', problem),
    ...(expiresAtMs === null ? {} : { expiresOn: isoTime(expiresAtMs) }),
    ...(recording.state === 'completed' ? filesOf(recording) : {}),
  }
}

const filesOf = ({ id, tracks }: Recording) => ({
  url: downloadPath(id),
  ...(tracks.some(({ type }) => type === 'video') ? { thumbnailUrl: `/api/recordings/${id}/thumbnail` } : {}),
})

/** The fields of a recording that events carry. */
export function recordingData(recording: Recording) {
  const { accountId, streamName, endedAtMs, bytes, durationMs, tracks, state } = recording
  return {
    recordingId: recording.id,
    tokenId: recording.tokenId,
    streamName,
    streamId: streamIdOf({ accountId, streamName }),
    started: recording.startedAtMs,
    ...(endedAtMs === null ? {} : { ended: endedAtMs }),
    ...(bytes === null ? {} : { bytes }),
    ...(durationMs === null ? {} : { durationMs }),
    ...(tracks.length === 0 ? {} : { tracks: tracks.map((track) => ({ ...track })) }),
    ...(state === 'completed' ? { url: downloadPath(recording.id) } : {}),
  }
}
