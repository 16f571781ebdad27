import { settledSpan } from '../../base/clock.ts'
import type { Said } from '../../core/notices.ts'
import { expiryAfter, recordingData } from '../../core/recordings/rules.ts'
import type { RecordedTrack } from '../../core/recordings/types.ts'
import type { ActiveFeed } from '../../media/feedsOnAir.ts'
import type { StoredRecording, Tx } from '../../store/store.ts'
import type { SessionContext } from '../context.ts'
import { emitStreamEvent } from '../webhooks/emit.ts'

/**
 * What the recorder writes to the store, each step with its event in one transaction. Each step is idempotent, because
 * the recorder repeats a step with an unknown result.
 */

export interface BegunRecording {
  readonly id: string
  /** Host key of the node with its files. */
  readonly hostKey: string
  readonly atMs: number
  readonly tracks: readonly RecordedTrack[]
}

export async function beginRecording(
  ctx: SessionContext,
  feed: ActiveFeed,
  { id, hostKey, atMs, tracks }: BegunRecording,
): Promise<void> {
  const { accountId, streamName, tokenId, feedId } = feed
  const recording: StoredRecording = {
    id,
    accountId,
    streamName,
    tokenId,
    feedId,
    state: 'recording',
    startedAtMs: atMs,
    endedAtMs: null,
    bytes: null,
    durationMs: null,
    tracks,
    problem: null,
    expiresAtMs: null,
    hostKey,
    node: ctx.sessions.node,
  }
  await ctx.store.transaction(async (tx) => {
    if (await tx.recordings.lock(id)) return
    await tx.recordings.insert(recording)
    await emitStreamEvent(
      tx,
      { accountId, atMs },
      { type: 'recording', event: 'started', data: recordingData(recording) },
    )
  })
}

export interface EndedRecording {
  /** When the last media arrived. */
  readonly atMs: number
  /** Why the recording ended before its feed; null: it did not. */
  readonly problem: Said | null
}

/**
 * Ends a recording; its file is still being made. If it ended early, the error event goes out at once, because the rest
 * is missing. The times are settled: after a crash they come from files, and a clock may have been set.
 */
export const endRecording = (ctx: SessionContext, id: string, { atMs, problem }: EndedRecording): Promise<void> =>
  change(ctx, id, async (tx, recording) => {
    if (recording.state !== 'recording') return
    const span = settledSpan({ startedAtMs: recording.startedAtMs, endedAtMs: atMs }, ctx.clock.now())
    const cause = problem === null ? {} : { problem }
    const ended = { ...recording, ...span, ...cause, state: 'processing' as const, node: ctx.sessions.node }
    await tx.recordings.replace(ended)
    if (problem !== null) await emitEvent(ctx, tx, ended, 'error')
  })

export interface RecordedFile {
  readonly bytes: number
  readonly durationMs: number
  readonly tracks: readonly RecordedTrack[]
}

/** Its file is available. An early end stays on record. */
export const completeRecording = (ctx: SessionContext, id: string, file: RecordedFile): Promise<void> =>
  finish(ctx, id, { ...file, state: 'completed' })

/** Records that there is no file, and why. */
export const failRecording = (ctx: SessionContext, id: string, problem: Said): Promise<void> =>
  finish(ctx, id, { state: 'error', problem })

/** Its files are removed; deletes the last of its record. */
export const forgetRecording = (ctx: SessionContext, id: string): Promise<void> =>
  change(ctx, id, async (tx, { state }) => {
    if (state === 'deleting') await tx.recordings.delete(id)
  })

/**
 * Makes this host that of the recordings whose files it has. Its key was another one when they were made if its container was
 * made again since, its machine got another name, or the folder another path. What failed for want of its files, or at a
 * restore of the database, is unfinished again.
 */
export const adoptRecordings = (
  { store }: Pick<SessionContext, 'store'>,
  hostKey: string,
  ids: readonly string[],
): Promise<void> => store.transaction((tx) => tx.recordings.adopt(ids, hostKey))

/** Recordings of this host that no running process works on, so that they can be completed or failed. */
export async function abandonedRecordings(
  ctx: SessionContext,
  hostKey: string,
): Promise<Pick<StoredRecording, 'id' | 'accountId'>[]> {
  const unfinished = await ctx.store.read.recordings.unfinished(hostKey)
  if (unfinished.length === 0) return []
  const alive = new Set((await ctx.store.read.nodes.list()).map((node) => node.id))
  return unfinished.filter(({ node }) => node === ctx.sessions.node || !alive.has(node))
}

/** Recordings of this host that were deleted, and may still have files. */
export const deletedRecordings = ({ store }: Pick<SessionContext, 'store'>, hostKey: string): Promise<string[]> =>
  store.read.recordings.deleting(hostKey)

type End = Partial<RecordedFile> & ({ state: 'completed' } | { state: 'error'; problem: Said })

function finish(ctx: SessionContext, id: string, end: End): Promise<void> {
  return change(ctx, id, async (tx, recording) => {
    if (recording.state !== 'processing') return
    const token = await tx.tokens.get(recording.tokenId)
    const account = await tx.accounts.defaults(recording.accountId)
    const expiresAtMs = expiryAfter(token?.recordingDays ?? null, account?.recordingDays ?? null, ctx.clock.now())
    const ended = { ...recording, ...end, expiresAtMs, node: ctx.sessions.node }
    await tx.recordings.replace(ended)
    await emitEvent(ctx, tx, ended, end.state)
  })
}

async function emitEvent(
  ctx: SessionContext,
  tx: Tx,
  recording: StoredRecording,
  event: 'completed' | 'error',
): Promise<void> {
  const on = { accountId: recording.accountId, atMs: ctx.clock.now() }
  await emitStreamEvent(tx, on, { type: 'recording', event, data: recordingData(recording) })
}

async function change(
  ctx: SessionContext,
  id: string,
  work: (tx: Tx, recording: StoredRecording) => Promise<void>,
): Promise<void> {
  await ctx.store.transaction(async (tx) => {
    const recording = await tx.recordings.lock(id)
    if (recording) await work(tx, recording)
  })
}
