import { err, ok, type Result } from '../../base/result.ts'
import { failure, invalid, notFound, type Failure } from '../../core/errors.ts'
import type { Mac } from '../../core/pages/cursor.ts'
import { readRecordingQuery, recordingData, toRecordingRecord } from '../../core/recordings/rules.ts'
import { StoreUnavailable, type StoredRecording } from '../../store/store.ts'
import { type Actor, type CommandContext, audit } from '../context.ts'
import { type KeysetPage, mapPage, paginate } from '../pages.ts'
import { emitStreamEvent } from '../webhooks/emit.ts'

/** A recording as the interface shows it. */
export type RecordingEntry = ReturnType<typeof toRecordingRecord>

/** One page of the recordings of an account, newest first. */
export async function listRecordings(
  ctx: CommandContext,
  mac: Mac,
  accountId: string,
  query: Record<string, unknown>,
): Promise<Result<KeysetPage<RecordingEntry>, Failure>> {
  const read = readRecordingQuery(query)
  if (!read.ok) return err(invalid(read.error))
  const { cursor, limit, ...filter } = read.value
  const page = await paginate(mac, {
    scope: { list: 'recordings', filters: { accountId, ...filter } },
    limit,
    cursor,
    keyOf: (row: StoredRecording) => [row.id],
    read: ([after], most) =>
      ctx.store.read.recordings.page({
        accountId,
        ...filter,
        limit: most,
        ...(typeof after === 'string' ? { after } : {}),
      }),
  })
  return mapPage(page, toRecordingRecord)
}

export async function readRecording(
  ctx: CommandContext,
  accountId: string,
  id: string,
): Promise<Result<RecordingEntry, Failure>> {
  const recording = await ctx.store.read.recordings.get(accountId, id)
  return recording ? ok(toRecordingRecord(recording)) : err(noRecording(id))
}

/** A recording whose file can be fetched at the node that has it. */
export async function finishedRecording(
  ctx: CommandContext,
  accountId: string,
  id: string,
): Promise<Result<StoredRecording, Failure>> {
  const recording = await ctx.store.read.recordings.get(accountId, id)
  if (!recording) return err(noRecording(id))
  if (recording.state !== 'completed')
    return err(failure('conflict', `This recording is not complete: ${recording.state}`))
  return ok(recording)
}

/**
 * Deletes a recording that is finished, or whose node is gone. From the answer on it is hidden and cannot be fetched. The node that has its files
 * removes them (`forgetRecording`).
 */
export async function deleteRecording(ctx: CommandContext, actor: Actor, id: string): Promise<Result<true, Failure>> {
  const atMs = ctx.clock.now()
  const { accountId } = actor
  return ctx.store.transaction(async (tx): Promise<Result<true, Failure>> => {
    const recording = await tx.recordings.lock(id)
    if (recording?.accountId !== accountId || recording.state === 'deleting') return err(noRecording(id))
    const isUnderWay = recording.state === 'recording' || recording.state === 'processing'
    if (isUnderWay && (await tx.nodes.lockShared(recording.node)))
      return err(failure('conflict', 'This recording is not complete; end the stream and wait until it is'))
    const deleting = { ...recording, state: 'deleting' } as const
    await tx.recordings.replace(deleting)
    await emitStreamEvent(
      tx,
      { accountId, atMs },
      { type: 'recording', event: 'deleted', data: recordingData(deleting) },
    )
    await audit(tx, actor, atMs, { action: 'recording.delete', subject: id, before: toRecordingRecord(recording) })
    return ok(true)
  })
}

/**
 * The same where its files may be. On a full disk those of a finished one go first: without them there may be room to write that they
 * are gone.
 */
export async function deleteRecordingHere(
  ctx: CommandContext,
  actor: Actor,
  id: string,
  removeFiles: (id: string) => Promise<void>,
): Promise<Result<true, Failure>> {
  try {
    return await deleteRecording(ctx, actor, id)
  } catch (error) {
    const isDiskFull = error instanceof StoreUnavailable && error.isDiskFull
    if (!isDiskFull || !(await finishedRecording(ctx, actor.accountId, id)).ok) throw error
    await removeFiles(id)
    return deleteRecording(ctx, actor, id)
  }
}

export const noRecording = (id: string): Failure => notFound('recordingId', `No recording with id: ${id.slice(0, 32)}`)

/** Why a finished recording has no file on host `here`: nodes share the database, not their disks. */
export function noFile({ hostKey }: StoredRecording, here: string): Failure {
  if (hostKey === here) return notFound('recordingId', 'The file of this recording is not there; is its disk mounted?')
  const [machine = ''] = hostKey.split(':')
  return failure('conflict', `The file of this recording is at another node, on ${machine}: fetch it there`)
}

/** Why a finished recording has no thumbnail on host `here`. */
export const noThumbnail = (recording: StoredRecording, here: string): Failure =>
  recording.hostKey === here
    ? notFound('recordingId', 'This recording has no thumbnail: it has no video, or is older than thumbnails')
    : noFile(recording, here)
