import { isoTime } from '../../../base/time.ts'
import { err, ok } from '../../../base/result.ts'
import { noSuch } from '../../../core/channels/errors.ts'
import { readPageQuery } from '../../../core/channels/listQuery.ts'
import { moment } from '../../../core/validation/moments.ts'
import { eventIdOf, channelEventBody, type StoredChannelEvent } from '../../../core/channels/webhooks/events.ts'
import type { LogEntry } from '../../../core/channels/webhooks/schema.ts'
import { saidAs } from '../../../core/notices.ts'
import type { LoggedAttempt } from '../../../store/store.ts'
import type { WebhookContext } from '../../context.ts'
import { type KeysetPage, newestAfter } from '../../pages.ts'
import { type ChannelResult, isId, channelPage } from '../channelCommand.ts'

interface LogFilters {
  startDate: number
  endDate: number
}

/** One page of delivery attempts to a webhook and of skipped events, newest first. */
export async function listWebhookLogs(
  ctx: WebhookContext,
  accountId: string,
  webhookId: string,
  query: Record<string, unknown>,
): ChannelResult<KeysetPage<LogEntry>> {
  const read = readPageQuery<LogFilters>(query, { startDate: moment, endDate: moment })
  if (!read.ok) return read
  const webhook = isId(webhookId) ? await ctx.store.read.channelWebhooks.get(accountId, webhookId) : undefined
  if (!webhook) return err(noSuch('webhook', webhookId))
  const { limit, cursor, filters } = read.value
  const { startDate: fromMs, endDate: untilMs } = filters
  const selection = {
    slot: webhook.slot,
    ...(fromMs === undefined ? {} : { fromMs }),
    ...(untilMs === undefined ? {} : { untilMs }),
  }
  const page = await channelPage(ctx, {
    scope: { list: 'channel_webhook_logs', filters: { webhookId, startDate: fromMs, endDate: untilMs } },
    limit,
    cursor,
    keyOf: (row: LoggedAttempt) => [row.loggedAtMs, row.id],
    read: (position, count) =>
      ctx.store.read.channelWebhooks.log({ ...selection, limit: count, ...newestAfter(position) }),
  })
  return page.ok ? ok({ ...page.value, data: page.value.data.map(toEntry) }) : page
}

const toEntry = (row: LoggedAttempt): LogEntry => ({
  id: `lg_${row.id}`,
  eventId: eventIdOf(row.eventId),
  timestamp: isoTime(row.loggedAtMs),
  type: row.event,
  state: row.state as LogEntry['state'],
  statusCode: row.statusCode ?? 0,
  requestData: JSON.parse(bodyOf(row)) as unknown,
  attempt: row.attempt,
  durationMs: row.durationMs ?? 0,
  ...saidAs('error', row.error),
  ...(row.redeliveryOf === null ? {} : { redeliveryOf: `lg_${row.redeliveryOf}` }),
})

/** The body that was sent, or would have been. */
function bodyOf({ body, event: name, accountId, data }: LoggedAttempt): string {
  // An event that could not be prepared has an empty body.
  if (body !== null) return body.length === 0 ? 'null' : new TextDecoder().decode(body)
  return channelEventBody({ name, accountId, ...(JSON.parse(data) as StoredChannelEvent) })
}
