import { err, ok, type Result } from '../../base/result.ts'
import {
  type AudienceQuestion,
  lengthInDays,
  HOURS_DAYS_MAX,
  readAudienceQuery,
  seriesSlotsOf,
  type AudienceSpan,
} from '../../core/audience/query.ts'
import { audienceReport, type AudienceReport, spansOf } from '../../core/audience/report.ts'
import { type AudienceRow, type AudienceSlot, DAY_MS, fromRow } from '../../core/audience/slots.ts'
import { type Failure, failure, invalid } from '../../core/errors.ts'
import type { UnwrittenSlots } from '../../services/audienceNow.ts'
import type { AudienceQuery } from '../../store/store.ts'
import type { SessionContext } from '../context.ts'

/** Rows of streams that one report reads: 2,000 streams on 30 days, or 150 on 400. */
const ROWS_MAX = 60_000

/** Where slots come from: rows by hours or days, and the hours that are not written yet. */
interface Source {
  readonly read: (length: 'hour' | 'day', span: AudienceSpan) => Promise<AudienceRow[]>
  readonly unwritten: UnwrittenSlots
}

/** Who watched, how long, and how many at once; up to now. */
export async function readAudience(
  ctx: Pick<SessionContext, 'store' | 'audience'>,
  accountId: string,
  query: Record<string, unknown>,
): Promise<Result<AudienceReport, Failure>> {
  const read = readAudienceQuery(query)
  if (!read.ok) return err(invalid(read.error))
  const question = read.value
  const { filter, by } = question
  const unwritten = await ctx.audience.read(ctx.store)
  const one = (withParts: boolean) =>
    ofOne(ctx, { accountId, streamName: question.streamName ?? '', withParts }, unwritten)
  const isFiltered = filter !== null
  const [slots, before, series, streams] = await Promise.all([
    slotsIn(question, one(isFiltered || by.length > 0)),
    slotsIn(question.before, one(isFiltered)),
    seriesSlots(question, one(isFiltered)),
    by.includes('streamName') ? slotsIn(question, ofEach(ctx, { accountId, withParts: isFiltered }, unwritten)) : [],
  ])
  if (streams.length > ROWS_MAX) return err(failure('bad_request', 'Too many streams: ask for less time'))
  return ok(audienceReport(question, { slots, before, series, streams }))
}

type Of = Pick<AudienceQuery, 'accountId' | 'streamName' | 'withParts'>

/** Of one stream, or of the whole account. */
const ofOne = ({ store }: Pick<SessionContext, 'store'>, of: Of, { fromMs, slots }: UnwrittenSlots): Source => ({
  read: (length, span) => store.read.audience.slots({ ...of, length, ...span }),
  unwritten: {
    fromMs,
    slots: slots.filter((slot) => slot.accountId === of.accountId && slot.streamName === of.streamName),
  },
})

/** Of each stream. */
const ofEach = (
  { store }: Pick<SessionContext, 'store'>,
  of: Omit<Of, 'streamName'>,
  { fromMs, slots }: UnwrittenSlots,
): Source => ({
  read: (length, span) => store.read.audience.streams({ ...of, length, ...span, limit: ROWS_MAX + 1 }),
  unwritten: { fromMs, slots: slots.filter((slot) => slot.accountId === of.accountId && slot.streamName !== '') },
})

async function slotsIn(span: AudienceSpan, { read, unwritten }: Source): Promise<AudienceSlot[]> {
  const { days, hours } = spansOf(writtenPart(span, unwritten))
  const rows = await Promise.all([
    ...(days === null ? [] : [read('day', days)]),
    ...hours.map((edge) => read('hour', edge)),
  ])
  return [...rows.flat().map(fromRow), ...unwrittenPart(span, unwritten)]
}

/** Days of UTC where the slots of the series begin with them, and hours elsewhere. Filtered hours of a year would be too much. */
async function seriesSlots(question: AudienceQuestion, source: Source): Promise<AudienceSlot[]> {
  const { resolution } = question
  if (resolution === null) return []
  const isLong = question.filter !== null && lengthInDays(question) > HOURS_DAYS_MAX
  const areDays = resolution !== 'Hour' && (isLong || seriesSlotsOf(question).every((ms) => ms % DAY_MS === 0))
  if (areDays) return slotsIn(question, source)
  const written = writtenPart(question, source.unwritten)
  const rows = written.untilMs > written.fromMs ? await source.read('hour', written) : []
  return [...rows.map(fromRow), ...unwrittenPart(question, source.unwritten)]
}

const writtenPart = (span: AudienceSpan, { fromMs }: UnwrittenSlots): AudienceSpan => ({
  fromMs: span.fromMs,
  untilMs: Math.max(span.fromMs, Math.min(span.untilMs, fromMs)),
})

const unwrittenPart = (span: AudienceSpan, { slots }: UnwrittenSlots): AudienceSlot[] =>
  slots.filter(({ atMs }) => atMs >= span.fromMs && atMs < span.untilMs)
