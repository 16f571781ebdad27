import { err, ok } from '../../base/result.ts'
import { noSuch } from '../../core/live/errors.ts'
import { readPageQuery } from '../../core/live/listQuery.ts'
import { moment } from '../../core/live/moments.ts'
import type { LogEntry } from '../../core/webhooksV2/schema.ts'
import type { LoggedAttempt } from '../../store/store.ts'
import type { Context } from '../context.ts'
import type { KeysetPage } from '../keysetPage.ts'
import { type Answered, isId, livePage } from '../v2/shared.ts'

interface LogFilters {
  startDate: number
  endDate: number
}

/** One page of the attempts to deliver to a webhook, newest first. */
export async function listWebhookLogs(
  ctx: Context,
  accountId: string,
  webhookId: string,
  query: Record<string, unknown>,
): Answered<KeysetPage<LogEntry>> {
  const read = readPageQuery<LogFilters>(query, { startDate: moment, endDate: moment })
  if (!read.ok) return read
  const webhook = isId(webhookId) ? await ctx.store.read.liveWebhooks.get(accountId, webhookId) : undefined
  if (!webhook) return err(noSuch('webhook', webhookId))
  const { limit, cursor, filters } = read.value
  const { startDate: fromMs, endDate: untilMs } = filters
  const wanted = {
    lane: webhook.lane,
    ...(fromMs === undefined ? {} : { fromMs }),
    ...(untilMs === undefined ? {} : { untilMs }),
  }
  const page = await livePage(ctx, {
    scope: { list: 'live_webhook_logs', filters: { webhookId, startDate: fromMs, endDate: untilMs } },
    limit,
    cursor,
    keyOf: (row: LoggedAttempt) => [row.id],
    read: ([after], count) =>
      ctx.store.read.liveWebhooks.log({ ...wanted, limit: count, ...(typeof after === 'string' ? { after } : {}) }),
  })
  return page.ok ? ok({ ...page.value, data: page.value.data.map(toEntry) }) : page
}

const toEntry = (row: LoggedAttempt): LogEntry => ({
  id: `lg_${row.id}`,
  timestamp: new Date(row.startedAtMs ?? row.createdAtMs).toISOString(),
  type: row.event,
  statusCode: row.statusCode ?? 0,
  requestData: row.body === null ? null : (JSON.parse(new TextDecoder().decode(row.body)) as unknown),
  attempt: row.attempt,
  durationMs: row.durationMs ?? 0,
  ...(row.error === null ? {} : { error: row.error }),
})
