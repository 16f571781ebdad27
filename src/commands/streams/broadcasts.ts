import { isoTime } from '../../base/time.ts'
import { err, type Result } from '../../base/result.ts'
import { invalid, type Failure } from '../../core/errors.ts'
import type { Mac } from '../../core/pages/cursor.ts'
import type { QueryPart } from '../../core/pages/listQuery.ts'
import { streamIdOf } from '../../core/streams/streamId.ts'
import { readEndedQuery, readOnAirQuery } from '../../core/streams/streamQuery.ts'
import type { Broadcast, BroadcastQuery } from '../../store/store.ts'
import type { CommandContext } from '../context.ts'
import { type KeysetPage, mapPage, newestAfter, paginate } from '../pages.ts'

/** A broadcast that is over, as the interface shows it. */
export type BroadcastEntry = ReturnType<typeof toEntry>

type Page = Promise<Result<KeysetPage<BroadcastEntry>, Failure>>
type Given = Record<string, unknown>

/** One page of the broadcasts that are over, of one stream or of the account, the last to end first. */
export async function listBroadcasts(ctx: CommandContext, mac: Mac, accountId: string, query: Given): Page {
  const read = readOnAirQuery(query)
  return read.ok ? pageOf(ctx, mac, 'broadcasts', { accountId, ...read.value }) : err(invalid(read.error))
}

/** One page of the streams that are off the air, each with its last broadcast, the last to end first. */
export async function listEndedStreams(ctx: CommandContext, mac: Mac, accountId: string, query: Given): Page {
  const read = readEndedQuery(query)
  if (!read.ok) return err(invalid(read.error))
  return pageOf(ctx, mac, 'ended streams', { accountId, ...read.value, isLast: true })
}

async function pageOf(
  ctx: CommandContext,
  mac: Mac,
  list: string,
  { cursor, limit, ...filters }: Omit<BroadcastQuery, 'after'> & QueryPart,
): Page {
  const page = await paginate(mac, {
    scope: { list, filters },
    limit,
    cursor,
    keyOf: (row: Broadcast) => [row.endedAtMs, row.feedId],
    read: (position, most) => ctx.store.read.feeds.broadcasts({ ...filters, limit: most, ...newestAfter(position) }),
  })
  return mapPage(page, toEntry)
}

/** Omits what is not known. */
const toEntry = (row: Broadcast) => ({
  feedId: row.feedId,
  streamName: row.streamName,
  streamId: streamIdOf(row),
  ...(row.sourceId === null ? {} : { sourceId: row.sourceId }),
  ...(row.protocol === null ? {} : { protocol: row.protocol }),
  tokenId: row.tokenId,
  ...(row.tokenLabel === null ? {} : { tokenLabel: row.tokenLabel }),
  startedOn: isoTime(row.startedAtMs),
  endedOn: isoTime(row.endedAtMs),
  mostViewers: row.mostViewers,
  ...(row.bytesIn === null ? {} : { bytesIn: row.bytesIn }),
  bytesOut: row.bytesOut,
  ...(row.endReason === null ? {} : { endReason: row.endReason }),
})
