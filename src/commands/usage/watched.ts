import { err, ok, type Result } from '../../base/result.ts'
import { DAY_MS, HOUR_MS } from '../../base/time.ts'
import { inTurns } from '../../base/turns.ts'
import { HOURS_DAYS_MAX } from '../../core/audience/query.ts'
import { type Failure, failure } from '../../core/errors.ts'
import type { UsageParameters, UsageQuestion } from '../../core/usage/query.ts'
import type { UsageRow } from '../../core/usage/report.ts'
import { publishRows, viewRow } from '../../core/audience/watched.ts'
import { lengthInDays } from '../../core/zonedSlots.ts'
import { readCountries } from '../audience/readAudience.ts'
import type { SessionContext } from '../context.ts'

/** Broadcasts, and views by country and time, that one report reads. */
const ROWS_MAX = 100_000

/** Hours and days of other zones are summed of hours. */
const isByHour = ({ resolution, zone }: UsageQuestion): boolean => resolution === 'Hour' || zone !== 'UTC'

/** Whether a series has broadcasts and views beside its bytes. Hours with their countries are too much to read for a year. */
export const isWatchable = (question: UsageQuestion): boolean =>
  !isByHour(question) || lengthInDays(question) <= HOURS_DAYS_MAX

/** Broadcasts and views as rows beside those of bytes; up to now. */
export async function readWatched(
  ctx: Pick<SessionContext, 'store' | 'audience' | 'clock'>,
  accountId: string,
  { names: parameter, resolutions }: UsageParameters,
  question: UsageQuestion,
): Promise<Result<UsageRow[], Failure>> {
  const isSeries = resolutions !== undefined
  if (isSeries && !isWatchable(question)) return ok([])
  const { fromMs, untilMs, names } = question
  const of = { accountId, fromMs, untilMs, limit: ROWS_MAX + 1 }
  const feeds = await ctx.store.read.audience.published({ ...of, ...(parameter ? { streamNames: names } : {}) })
  if (feeds.length > ROWS_MAX) return err(failure('bad_request', `More than ${ROWS_MAX} broadcasts: ask for less time`))
  const length = isByHour(question) ? 'hour' : 'day'
  const slotMs = !isSeries ? untilMs - fromMs : length === 'hour' ? HOUR_MS : DAY_MS
  const longest = isSeries ? length : 'month'
  const views = await readCountries(ctx, { ...of, streamNames: parameter ? names : [''] }, longest)
  if (views.length > ROWS_MAX) return err(failure('bad_request', `More than ${ROWS_MAX} rows: ask for less time`))
  const published = await inTurns(publishRows(feeds, { fromMs, untilMs, slotMs }, ctx.clock.now()))
  return ok([...published, ...views.map(viewRow)])
}
