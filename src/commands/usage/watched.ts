import { err, ok, type Result } from '../../base/result.ts'
import { DAY_MS, HOUR_MS } from '../../base/time.ts'
import { HOURS_DAYS_MAX } from '../../core/audience/query.ts'
import { type Failure, failure } from '../../core/errors.ts'
import type { UsageParameters, UsageQuestion } from '../../core/usage/query.ts'
import type { UsageRow } from '../../core/usage/report.ts'
import { publishRows, viewRows } from '../../core/audience/watched.ts'
import { lengthInDays } from '../../core/zonedSlots.ts'
import { readCountries } from '../audience/readAudience.ts'
import type { SessionContext } from '../context.ts'

/** Broadcasts that one report reads. */
const FEEDS_MAX = 100_000

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
  const of = { accountId, ...(parameter ? { streamNames: names } : {}) }
  const feeds = await ctx.store.read.feeds.published({ ...of, fromMs, untilMs, limit: FEEDS_MAX + 1 })
  if (feeds.length > FEEDS_MAX)
    return err(failure('bad_request', `More than ${FEEDS_MAX} broadcasts: ask for less time`))
  const length = isByHour(question) ? 'hour' : 'day'
  const slotMs = !isSeries ? untilMs - fromMs : length === 'hour' ? HOUR_MS : DAY_MS
  const longest = isSeries ? length : 'month'
  const views = await readCountries(ctx, of, question, longest)
  return ok([...publishRows(feeds, { fromMs, untilMs, slotMs }, ctx.clock.now()), ...viewRows(views)])
}
