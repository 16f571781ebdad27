import { err, ok, type Result } from '../../base/result.ts'
import type { FieldErrors } from '../errors.ts'
import { readLimit } from '../page/page.ts'
import type { Recording } from './types.ts'

export interface RecordingListRequest {
  streamName?: string
  tokenId?: number
  cursor?: string
  limit: number
}

const NAMES = ['streamName', 'tokenId', 'limit', 'cursor']

/** Reads the query of `GET /api/recordings`; all errors at once. */
export function readRecordingQuery(query: Record<string, unknown>): Result<RecordingListRequest, FieldErrors> {
  const errors: FieldErrors = {}
  const read: RecordingListRequest = { limit: 20 }
  for (const [name, value] of Object.entries(query)) {
    const problem = typeof value === 'string' ? take(read, name, value) : 'may be given once'
    if (problem !== null) errors[name.slice(0, 64)] = [problem]
  }
  return Object.keys(errors).length > 0 ? err(errors) : ok(read)
}

function take(read: RecordingListRequest, name: string, value: string): string | null {
  if (name === 'cursor') read.cursor = value
  else if (name === 'streamName' && value.length <= 256) read.streamName = value
  else if (name === 'tokenId' && /^\d{1,15}$/.test(value)) read.tokenId = Number(value)
  else if (name === 'limit') return takeLimit(read, value)
  else return PROBLEMS[name] ?? `is not a parameter of this list; allowed: ${NAMES.join(', ')}`
  return null
}

const PROBLEMS: Readonly<Record<string, string>> = {
  streamName: 'must have at most 128 characters',
  tokenId: 'must be a token id, a whole number',
}

function takeLimit(read: RecordingListRequest, value: string): string | null {
  const limit = readLimit(value)
  if (!limit.ok) return limit.error
  read.limit = limit.value
  return null
}

/** Where a finished recording is fetched. */
const downloadPath = (id: string): string => `/api/recordings/${id}/download`

/** A recording as the interface shows it; what is not known is left out. */
export function toRecordingRecord(recording: Recording) {
  const { endedAtMs, bytes, durationMs, problem, tracks } = recording
  return {
    id: recording.id,
    state: recording.state,
    streamName: recording.streamName,
    streamId: `${recording.accountId}/${recording.streamName}`,
    tokenId: recording.tokenId,
    feedId: recording.feedId,
    startedOn: new Date(recording.startedAtMs).toISOString(),
    ...(endedAtMs === null ? {} : { endedOn: new Date(endedAtMs).toISOString() }),
    ...(bytes === null ? {} : { bytes }),
    ...(durationMs === null ? {} : { durationMs }),
    tracks: tracks.map((track) => ({ ...track })),
    ...(problem === null ? {} : { problem }),
    ...(recording.state === 'completed' ? { url: downloadPath(recording.id) } : {}),
  }
}

/** What events say of a recording. */
export function recordingData(recording: Recording) {
  const { accountId, streamName, endedAtMs, bytes, durationMs, tracks, state } = recording
  return {
    recordingId: recording.id,
    tokenId: recording.tokenId,
    streamName,
    streamId: `${accountId}/${streamName}`,
    started: recording.startedAtMs,
    ...(endedAtMs === null ? {} : { ended: endedAtMs }),
    ...(bytes === null ? {} : { bytes }),
    ...(durationMs === null ? {} : { durationMs }),
    ...(tracks.length === 0 ? {} : { tracks: tracks.map((track) => ({ ...track })) }),
    ...(state === 'completed' ? { url: downloadPath(recording.id) } : {}),
  }
}
