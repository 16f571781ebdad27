import { err, ok, type Result } from '../../base/result.ts'
import { MINUTE_MS, isoTime } from '../../base/time.ts'
import { invalid, type Failure } from '../../core/errors.ts'
import { columnOf, minutesOf, readMinutesQuery, type SeriesMetric } from '../../core/streams/seriesQuery.ts'
import type { SessionContext } from '../context.ts'

interface AccountSeries {
  range: string
  slotSeconds: number
  /** The beginning of the first slot. */
  from: string
  /** One value for each slot; the last slot is in progress. */
  series: Partial<Record<SeriesMetric, number[]>>
}

/** Viewers and bytes of an account by minute, over all nodes; up to now for this node. */
export async function accountSeries(
  ctx: SessionContext,
  accountId: string,
  query: Record<string, unknown>,
): Promise<Result<AccountSeries, Failure>> {
  const read = readMinutesQuery(query)
  if (!read.ok) return err(invalid(read.error))
  const { metrics, range } = read.value
  ctx.accountMinutes.sample()
  await ctx.accountMinutes.write(ctx.store)
  const span = minutesOf(range, ctx.clock.now())
  const rows = await ctx.store.read.minutes.sum({ accountId, ...span })
  const series = Object.fromEntries(metrics.map((metric) => [metric, columnOf(rows, metric, span)]))
  return ok({ range, slotSeconds: MINUTE_MS / 1000, from: isoTime(span.fromMs), series })
}
