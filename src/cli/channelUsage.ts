import { ok, type Result } from '../base/result.ts'
import { servedCountries, servedSeries, servedTrackingIds, type Subject } from '../commands/channels/usage.ts'
import { RESOLUTIONS, type SeriesRecord, type UsageAmount } from '../core/channels/analytics.ts'
import type { ChannelFailure } from '../core/channels/errors.ts'
import { type CommandAnswer, command } from './command.ts'
import { CHANNEL_ID, choiceFlag, textFlag } from './flag.ts'
import { lastDays } from './lastDays.ts'
import { type Columns, CSV_FLAG, type Listing, listing } from './listing.ts'
import { collectPages } from './pages.ts'
import { fromChannelFailure } from './refusal.ts'
import { type AccountScope, withAccount } from './session.ts'

const DAYS = 30
const TRACKING_IDS_MAX = 100_000

type Shown = Promise<Result<CommandAnswer, ChannelFailure>>

export const usageCommand = command({
  path: ['channel', 'usage'],
  summary: 'Show the usage of a channel, in bytes or in minutes of media: by time, country or tracking id',
  detail: `The default is the last ${DAYS} days. Times are UTC.`,
  args: { id: CHANNEL_ID },
  flags: {
    count: choiceFlag(['bytes', 'minutes'], 'bytes', 'The unit: served bytes, or the play time of served segments.'),
    by: choiceFlag(['channel', 'distribution', 'country', 'tracking-id'], 'channel', 'The grouping.'),
    start: textFlag('TIME', 'The start: a day, or an ISO 8601 time with a zone.'),
    end: textFlag('TIME', 'The end, exclusive: a day or time.'),
    resolution: choiceFlag(RESOLUTIONS, 'day', 'The length of a step, for a channel or its distributions.'),
    ...CSV_FLAG,
  },
  examples: [
    'sluice channel usage ch_1BvTL3PCGW4dXdKwCqFkRe --count minutes --by country',
    'sluice channel usage $CHANNEL --start 2026-01-01 --end 2026-02-01 --by distribution --json',
  ],
  run: (call) =>
    withAccount(call, async (scope) => {
      const { count, by, resolution, start, end } = call.flags
      const subject = { kind: 'channel', id: call.args.id, counted: count } as const
      const usual = lastDays(DAYS, scope.ctx.clock.now())
      const time = { start: start ?? usual.start, end: end ?? usual.end }
      const shown = await show(scope, subject, { by, resolution, time })
      return shown.ok ? shown : { ok: false, error: fromChannelFailure(shown.error) }
    }),
})

interface Query {
  readonly by: 'channel' | 'distribution' | 'country' | 'tracking-id'
  readonly resolution: string
  readonly time: { start: string; end: string }
}

async function show(scope: AccountScope, subject: Subject, { by, resolution, time }: Query): Shown {
  const of = [scope.ctx, scope.accountId, subject] as const
  if (by === 'tracking-id') return trackingIds(of, time)
  if (by === 'country') {
    const found = await servedCountries(...of, time)
    if (!found.ok) return found
    const lines = found.value.map((one) => ({ names: [one.countryCode], ...one }))
    return ok({ json: found.value, text: amounts(['country'], subject, lines) })
  }
  const found = await servedSeries(...of, { ...time, resolution, groupBy: by })
  return found.ok ? ok({ json: found.value, text: amounts(['from', 'id'], subject, linesOf(found.value)) }) : found
}

/** A line of a table. */
interface Line extends UsageAmount {
  readonly names: readonly string[]
}

/** Bytes of caches have a column if there are any. */
function amounts(names: readonly string[], { counted }: Subject, lines: readonly Line[]): Listing {
  const kind = counted === 'bytes' ? 'bytes' : 'text'
  const named: Columns<Line> = Object.fromEntries(
    names.map((name, index) => [name, ['text', ({ names: cells }: Line) => cells[index]]] as const),
  )
  const amount: Columns<Line> = { [counted]: [kind, (line) => line.amount] }
  const fromCaches: Columns<Line> = { 'from caches': [kind, ({ bytesFromCaches = 0 }) => bytesFromCaches] }
  const hasCaches = lines.some(({ bytesFromCaches }) => bytesFromCaches !== undefined)
  return listing({ ...named, ...amount, ...(hasCaches ? fromCaches : {}) }, lines)
}

/** The table leaves out steps without any usage. */
const linesOf = (series: readonly SeriesRecord[]): Line[] =>
  series.flatMap(({ timestamp, records }) => records.map((record) => ({ names: [timestamp, record.id], ...record })))

async function trackingIds(of: readonly [AccountScope['ctx'], string, Subject], time: Query['time']): Shown {
  const found = await collectPages((page) => servedTrackingIds(...of, page), time, TRACKING_IDS_MAX)
  if (!found.ok) return found
  const lines = found.value.map((one) => ({ names: [one.trackingId ?? ''], ...one }))
  return ok({ json: found.value, text: amounts(['tracking id'], of[2], lines) })
}
