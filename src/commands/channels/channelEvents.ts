import { isoTime } from '../../base/time.ts'
import { ok } from '../../base/result.ts'
import { readers, readPageQuery } from '../../core/channels/listQuery.ts'
import { moment } from '../../core/validation/moments.ts'
import {
  eventIdOf,
  CHANNEL_EVENTS,
  type ChannelEventName,
  channelEventBody,
  type StoredChannelEvent,
} from '../../core/channels/webhooks/events.ts'
import type { EventEntry } from '../../core/channels/webhooks/schema.ts'
import type { ChannelEvent } from '../../store/store.ts'
import type { ChannelContext } from '../context.ts'
import { type KeysetPage, newestAfter } from '../pages.ts'
import { type ChannelResult, channelPage } from './channelCommand.ts'

interface EventFilters {
  startDate: number
  endDate: number
  type: readonly ChannelEventName[]
  sortDirection: 'asc' | 'desc'
}

/** One page of the events of an account's channels, with or without a subscribed webhook; newest first by default. */
export async function listChannelEvents(
  ctx: ChannelContext,
  accountId: string,
  query: Record<string, unknown>,
): ChannelResult<KeysetPage<EventEntry>> {
  const read = readPageQuery<EventFilters>(query, {
    startDate: moment,
    endDate: moment,
    type: readers.someOf(CHANNEL_EVENTS),
    sortDirection: readers.oneOf(['asc', 'desc']),
  })
  if (!read.ok) return read
  const { limit, cursor, filters } = read.value
  const { startDate: fromMs, endDate: untilMs, type: types, sortDirection = 'desc' } = filters
  const selection = {
    accountId,
    descending: sortDirection === 'desc',
    ...(types ? { types } : {}),
    ...(fromMs === undefined ? {} : { fromMs }),
    ...(untilMs === undefined ? {} : { untilMs }),
  }
  const page = await channelPage(ctx, {
    scope: {
      list: 'channel_events',
      filters: { accountId, startDate: fromMs, endDate: untilMs, type: types?.join(), sortDirection },
    },
    limit,
    cursor,
    keyOf: (row: ChannelEvent) => [row.atMs, row.id],
    read: (position, count) =>
      ctx.store.read.channelEvents.page({ ...selection, limit: count, ...newestAfter(position) }),
  })
  return page.ok ? ok({ ...page.value, data: page.value.data.map(toEntry) }) : page
}

function toEntry({ id, accountId, atMs, type, data }: ChannelEvent): EventEntry {
  const body = channelEventBody({ name: type, accountId, ...(JSON.parse(data) as StoredChannelEvent) })
  return { id: eventIdOf(id), timestamp: isoTime(atMs), type, requestData: JSON.parse(body) as unknown }
}
