import { isoTime } from '../../base/time.ts'
import { err, type Result } from '../../base/result.ts'
import { invalid, type Failure } from '../../core/errors.ts'
import { saidAs } from '../../core/notices.ts'
import type { Mac } from '../../core/pages/cursor.ts'
import { readOnAirQuery } from '../../core/streams/streamQuery.ts'
import type { RestreamEvent } from '../../store/store.ts'
import type { CommandContext } from '../context.ts'
import { type KeysetPage, mapPage, paginate } from '../pages.ts'

/** A change of a target, as the interface shows it. */
export type TargetEventEntry = ReturnType<typeof toEntry>

/** One page of what became of the targets of a stream, in this broadcast and those before, the newest first. */
export async function listTargetEvents(
  ctx: CommandContext,
  mac: Mac,
  accountId: string,
  query: Record<string, unknown> & { readonly streamName: string },
): Promise<Result<KeysetPage<TargetEventEntry>, Failure>> {
  const read = readOnAirQuery(query)
  if (!read.ok) return err(invalid(read.error))
  const { streamName } = query
  const { cursor, limit } = read.value
  const page = await paginate(mac, {
    scope: { list: 'restream events', filters: { accountId, streamName } },
    limit,
    cursor,
    keyOf: (row: RestreamEvent) => [row.id],
    read: ([before], most) =>
      ctx.store.read.restreamEvents.page({
        accountId,
        streamName,
        limit: most,
        ...(typeof before === 'number' ? { before } : {}),
      }),
  })
  return mapPage(page, toEntry)
}

/** The latest of them. */
export async function latestTargetEvents(
  { store }: Pick<CommandContext, 'store'>,
  accountId: string,
  streamName: string,
  limit: number,
): Promise<TargetEventEntry[]> {
  return (await store.read.restreamEvents.page({ accountId, streamName, limit })).map(toEntry)
}

const toEntry = ({ id, feedId, index, label, url, status, problem, atMs }: RestreamEvent) => ({
  id,
  feedId,
  index,
  label,
  url,
  status,
  ...saidAs('problem', problem),
  at: isoTime(atMs),
})
