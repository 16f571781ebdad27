import { err, ok, type Result } from '../../base/result.ts'
import { inTurns } from '../../base/turns.ts'
import { type AudienceQuestion, HOURS_DAYS_MAX, readAudienceQuery, seriesSlotsOf } from '../../core/audience/query.ts'
import { audienceReport, type AudienceReport } from '../../core/audience/report.ts'
import {
  AUDIENCE_DIMENSIONS,
  type AudienceDimension,
  type AudienceRow,
  type AudienceSlot,
  fromRow,
} from '../../core/audience/slots.ts'
import { countriesOf, type CountryViews } from '../../core/audience/watched.ts'
import { type Failure, failure, invalid } from '../../core/errors.ts'
import { type HourSpan, lengthInDays, longestIn, type SlotLength, spansOf } from '../../core/zonedSlots.ts'
import type { UnwrittenSlots } from '../../services/audienceNow.ts'
import type { CountriesQuery } from '../../store/store.ts'
import type { SessionContext } from '../context.ts'

/** Rows of streams that one report reads: 2,000 streams on 30 days, or 150 on 400. */
const ROWS_MAX = 60_000

/** Where slots come from: rows by time, and the hours that are not written yet. */
interface Source {
  readonly read: (span: Span) => Promise<AudienceRow[]>
  readonly unwritten: UnwrittenSlots
  /** The parts that the report needs. */
  readonly parts: readonly AudienceDimension[]
}

type Span = HourSpan & { readonly length: SlotLength }

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
  const streamName = question.streamName ?? ''
  const filtered = filter === null ? [] : [filter.dimension]
  const divided = AUDIENCE_DIMENSIONS.filter((dimension) => by.includes(dimension) || filtered.includes(dimension))
  const one = (parts: readonly AudienceDimension[]) => ofOne(ctx, { accountId, streamName, parts }, unwritten)
  const [slots, before, series, streams] = await Promise.all([
    slotsIn(question, one(divided)),
    slotsIn(question.before, one(filtered)),
    slotsIn(question, one(filtered), longestOf(question)),
    by.includes('streamName') ? slotsIn(question, ofEach(ctx, { accountId, parts: filtered }, unwritten)) : [],
  ])
  if (streams.length > ROWS_MAX) return err(failure('bad_request', 'Too many streams: ask for less time'))
  return ok(await inTurns(audienceReport(question, { slots, before, series, streams })))
}

/** Views by country of named streams, or of the whole account as one, up to now; of each kind of slot at most `limit`. */
export async function readCountries(
  { store, audience }: Pick<SessionContext, 'store' | 'audience'>,
  of: Omit<CountriesQuery, 'length'>,
  longest: SlotLength,
): Promise<CountryViews[]> {
  const unwritten = await audience.read(store)
  const spans = spansOf(writtenPart(of, unwritten), longest)
  const written = await Promise.all(spans.map((span) => store.read.audience.countries({ ...of, ...span })))
  const { accountId, streamNames } = of
  const now = unwrittenPart(of, unwritten).filter(
    (slot) => slot.accountId === accountId && streamNames.includes(slot.streamName),
  )
  return [...written.flat(), ...now.flatMap(countriesOf)]
}

interface Of {
  readonly accountId: string
  readonly parts: readonly AudienceDimension[]
}

const ofRows = ({ parts, ...of }: Of) => ({ ...of, withParts: parts.length > 0 })

/** Of one stream, or of the whole account. */
const ofOne = (
  { store }: Pick<SessionContext, 'store'>,
  of: Of & { readonly streamName: string },
  { fromMs, slots }: UnwrittenSlots,
): Source => ({
  read: (span) => store.read.audience.slots({ ...ofRows(of), streamName: of.streamName, ...span }),
  unwritten: {
    fromMs,
    slots: slots.filter((slot) => slot.accountId === of.accountId && slot.streamName === of.streamName),
  },
  parts: of.parts,
})

/** Of each stream. */
const ofEach = ({ store }: Pick<SessionContext, 'store'>, of: Of, { fromMs, slots }: UnwrittenSlots): Source => ({
  read: (span) => store.read.audience.streams({ ...ofRows(of), ...span, limit: ROWS_MAX + 1 }),
  unwritten: { fromMs, slots: slots.filter((slot) => slot.accountId === of.accountId && slot.streamName !== '') },
  parts: of.parts,
})

/** @param longest null: no slots */
async function slotsIn(
  span: HourSpan,
  { read, unwritten, parts }: Source,
  longest: SlotLength | null = 'month',
): Promise<AudienceSlot[]> {
  if (longest === null) return []
  const rows = await Promise.all(spansOf(writtenPart(span, unwritten), longest).map(read))
  return [...(await inTurns(written(rows.flat(), parts))), ...unwrittenPart(span, unwritten)]
}

function* written(
  rows: readonly AudienceRow[],
  parts: readonly AudienceDimension[],
): Generator<void, readonly AudienceSlot[]> {
  const slots: AudienceSlot[] = []
  for (const row of rows) {
    slots.push(fromRow(row, parts))
    yield
  }
  return slots
}

/** The longest slots that are in one slot of the series each. Filtered hours of a year would be too much, so days have to do. */
function longestOf(question: AudienceQuestion): SlotLength | null {
  if (question.resolution === null) return null
  const longest = longestIn(seriesSlotsOf(question))
  const isLong = question.filter !== null && lengthInDays(question) > HOURS_DAYS_MAX
  return isLong && longest === 'hour' ? 'day' : longest
}

const writtenPart = (span: HourSpan, { fromMs }: UnwrittenSlots): HourSpan => ({
  fromMs: span.fromMs,
  untilMs: Math.max(span.fromMs, Math.min(span.untilMs, fromMs)),
})

const unwrittenPart = (span: HourSpan, { slots }: UnwrittenSlots): AudienceSlot[] =>
  slots.filter(({ atMs }) => atMs >= span.fromMs && atMs < span.untilMs)
