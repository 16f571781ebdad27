import { err, ok } from '../../../base/result.ts'
import { noSuch } from '../../../core/channels/errors.ts'
import { readers, readPageQuery } from '../../../core/channels/listQuery.ts'
import { instant } from '../../../core/validation/moments.ts'
import { toRunRecord, type RunRecord } from '../../../core/channels/runs/runRecord.ts'
import type { Run, RunQuery } from '../../../store/store.ts'
import type { ChannelContext } from '../../context.ts'
import { type KeysetPage, newestAfter } from '../../pages.ts'
import { isOnRecord } from '../onRecord.ts'
import { type ChannelResult, channelPage } from '../channelCommand.ts'

type RunPage = KeysetPage<RunRecord>

interface RunFilters {
  start: number
  end: number
  engineIds: readonly string[]
}

/** Runs of all engines of a channel, newest first; also of a deleted channel. */
export async function listChannelRuns(
  ctx: ChannelContext,
  accountId: string,
  channelId: string,
  query: Record<string, unknown>,
): ChannelResult<RunPage> {
  const isKnown = await isOnRecord(ctx, accountId, 'channel', channelId)
  return isKnown ? listRuns(ctx, { channelId }, query) : err(noSuch('channel', channelId))
}

/** Runs of one engine, newest first; also of a deleted engine. */
export async function listEngineRuns(
  ctx: ChannelContext,
  accountId: string,
  engineId: string,
  query: Record<string, unknown>,
): ChannelResult<RunPage> {
  const isKnown = await isOnRecord(ctx, accountId, 'engine', engineId)
  return isKnown ? listRuns(ctx, { engineId }, query) : err(noSuch('engine', engineId))
}

/** The open run, or else the latest. */
export async function lastRun(ctx: ChannelContext, accountId: string, engineId: string): ChannelResult<RunRecord> {
  if (!(await isOnRecord(ctx, accountId, 'engine', engineId))) return err(noSuch('engine', engineId))
  const [run] = await ctx.store.read.runs.page({ engineId, limit: 1 })
  return run ? ok(toRunRecord(run)) : err(noSuch('run of the engine', engineId))
}

async function listRuns(
  ctx: ChannelContext,
  of: Pick<RunQuery, 'channelId' | 'engineId'>,
  query: Record<string, unknown>,
): ChannelResult<RunPage> {
  const read = readPageQuery<RunFilters>(query, { start: instant, end: instant, engineIds: readers.ids })
  if (!read.ok) return read
  const { limit, cursor, filters } = read.value
  const { start: startedAfterMs, end: endedBeforeMs, engineIds } = filters
  const selection = {
    ...of,
    ...(startedAfterMs === undefined ? {} : { startedAfterMs }),
    ...(endedBeforeMs === undefined ? {} : { endedBeforeMs }),
    ...(engineIds ? { engineIds } : {}),
  }
  const page = await channelPage(ctx, {
    scope: {
      list: 'runs',
      filters: { ...of, start: startedAfterMs, end: endedBeforeMs, engineIds: engineIds?.join() },
    },
    limit,
    cursor,
    keyOf: (run: Run) => [run.startedAtMs, run.id],
    read: (position, count) => ctx.store.read.runs.page({ ...selection, limit: count, ...newestAfter(position) }),
  })
  return page.ok ? ok({ ...page.value, data: page.value.data.map(toRunRecord) }) : page
}
