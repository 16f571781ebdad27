import { ok } from '../base/result.ts'
import { readAudience } from '../commands/audience/readAudience.ts'
import { AUDIENCE_BY, type AudienceBy } from '../core/audience/query.ts'
import { type AudienceTableRow, audienceRows } from '../core/audience/report.ts'
import { startFailuresOf } from '../core/quality/shown.ts'
import { command } from './command.ts'
import { choiceOrNone, given, textFlag, texts, toggleFlag } from './flag.ts'
import { type Columns, CSV_FLAG, listing } from './listing.ts'
import { lastDays } from './lastDays.ts'
import { withAccount } from './session.ts'

const DAYS = 28

/** What a report can be filtered by. */
const FILTERS = {
  stream: textFlag('NAME', 'Only this stream.'),
  protocol: textFlag('NAME', 'Only this protocol: whep or hls.'),
  country: textFlag('CODE', 'Only this country, such as AT; ZZ: not known.'),
  site: textFlag('HOST', 'Only pages of this host.'),
  device: textFlag('KIND', 'Only this kind of device: desktop, mobile, tv or unknown.'),
  browser: textFlag('NAME', 'Only this family of browsers or players.'),
}

export const audienceCommand = command({
  path: ['audience'],
  summary: 'Show who watched, how long and how many at once, by stream, country, device and more',
  detail:
    `The default is the last ${DAYS} days, by stream. A row has the values of one stream, country and so on; ` +
    '`before` is as much time before. In a pipe and as comma-separated values times are in seconds. docs/reference/analytics.md ' +
    'explains the figures.',
  flags: {
    by: texts('NAME', `What to divide by; may be repeated: ${AUDIENCE_BY.join(', ')}.`),
    start: textFlag('TIME', 'The start: a day, or an ISO 8601 time with a zone, on a whole hour.'),
    end: textFlag('TIME', 'The end, exclusive; at most 400 days later.'),
    'time-zone': textFlag('ZONE', 'The zone of days, such as Europe/Vienna; the default is UTC.'),
    resolution: choiceOrNone(['hour', 'day', 'month'], 'Adds a row for each hour, day or month.'),
    ...FILTERS,
    quality: toggleFlag('Show how well it played instead, as players reported it.'),
    ...CSV_FLAG,
  },
  examples: [
    'sluice audience --by country --by device --start 2026-01-01 --end 2026-02-01',
    'sluice audience --stream show --quality --resolution day --time-zone Europe/Vienna --csv',
  ],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const { by, start, end, 'time-zone': timeZone, stream: streamName, quality, ...filters } = call.flags
      const usual = lastDays(DAYS, ctx.clock.now())
      const days = { startDate: start ?? usual.start, stopDate: end ?? usual.end }
      const query = { ...days, ...given({ timeZone, streamName, ...filters }) }
      const read = await readAudience(ctx, accountId, { ...query, by: by.length > 0 ? by : defaultBy(query) })
      const columns = quality ? QUALITY_COLUMNS : COLUMNS
      return read.ok ? ok({ json: read.value, text: listing(columns, audienceRows(read.value)) }) : read
    }),
})

/** By stream, unless there is a filter. */
const defaultBy = (query: object): readonly AudienceBy[] =>
  AUDIENCE_BY.some((name) => name in query) ? [] : ['streamName']

const OF: Columns<AudienceTableRow> = {
  part: ['text', ({ part }) => part],
  value: ['text', ({ value }) => value],
}

const COLUMNS: Columns<AudienceTableRow> = {
  ...OF,
  views: ['text', ({ views }) => views],
  viewers: ['text', ({ viewers }) => viewers],
  watched: ['seconds', ({ watchSeconds }) => watchSeconds],
  'most at once': ['text', ({ mostAtOnce }) => mostAtOnce],
}

/** Empty where no player reported it. Players that send CMCD count with the others. */
const QUALITY_COLUMNS: Columns<AudienceTableRow> = {
  ...OF,
  players: ['text', ({ quality }) => quality && quality.players + quality.cmcd.players],
  failed: ['text', ({ quality }) => quality && startFailuresOf(quality)],
  start: ['seconds', ({ quality }) => quality?.startSecondsMedian ?? quality?.cmcd.startSeconds],
  stalls: ['text', ({ quality }) => quality && quality.stalls + quality.cmcd.starved],
  stalled: ['seconds', ({ quality }) => quality?.stalledSeconds],
  behind: ['seconds', ({ quality }) => quality?.behindSeconds],
  dropped: ['percent', ({ quality }) => quality?.droppedPercent],
}
