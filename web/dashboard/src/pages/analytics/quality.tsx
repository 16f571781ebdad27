import type { Answer, readAudience } from '#api/tokens.ts'
import { Legends } from '../../parts/legend.tsx'
import { Card } from '../../parts/page.tsx'
import { type Line, Plot } from '../../parts/plot.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { count, seconds } from '../../parts/values.tsx'
import { words } from '../../words/words.ts'
import type { AudienceQuery, Division } from './audienceQuery.ts'
import { CsvButton } from './csvButton.tsx'
import { failuresOf, stalledShare, stallsOf, stallsPerHour } from './qualityFigures.ts'

const text = words.analytics.quality

type Report = Answer<typeof readAudience>
type Quality = NonNullable<Report['total']['quality']>
type Row = NonNullable<Report['by']['country']>[number]
type Series = NonNullable<Report['series']>
type Reported = { readonly value: string; readonly quality: Quality }

const short = new Intl.NumberFormat(words.locale, { maximumFractionDigits: 2 })
const percents = new Intl.NumberFormat(words.locale, { style: 'percent', maximumFractionDigits: 2 })

const percent = (share: number | null): string => (share === null ? '–' : percents.format(share))
const number = (value: number | null): string => (value === null ? '–' : short.format(value))

interface Props {
  readonly total: Quality | undefined
  readonly series: Series
  readonly rows: readonly Row[]
  /** What the rows are divided by; absent: there are none. */
  readonly by: Division | undefined
  readonly resolution: AudienceQuery['resolution']
  /** How a value of a division is written. */
  readonly shown: (by: Division, value: string) => string
}

/** How well it played, as players report it. */
export function Quality({ total, series, rows, by, resolution, shown }: Props) {
  const reported = rows.flatMap(({ value, quality }) => (quality === undefined ? [] : [{ value, quality }]))
  return (
    <Card
      title={text.title}
      aside={by && total && <CsvButton name="sluice-quality.csv" of={text.title} rows={csvOf(by, reported)} />}
    >
      {total === undefined ? (
        <p class="note">{text.none}</p>
      ) : (
        <>
          {total.players > 0 && <Figures quality={total} />}
          {total.cmcd.players > 0 && <Cmcd cmcd={total.cmcd} />}
          <OverTime series={series} resolution={resolution} />
          {by && reported.length > 0 && (
            <Table
              caption={text.by(words.analytics.audience.by[by])}
              rows={reported}
              keyOf={({ value }) => value}
              columns={columnsOf(by, shown)}
            />
          )}
          <p class="note">{text.note}</p>
        </>
      )}
    </Card>
  )
}

function Figures({ quality }: { readonly quality: Quality }) {
  const { startSecondsMedian, startSeconds95, failures, players, behindSeconds, droppedPercent, stalls } = quality
  const failed = failuresOf(failures)
  const figures = [
    [text.start, seconds(startSecondsMedian), text.slowest(seconds(startSeconds95))],
    [text.failures, count(failed), failed === 0 ? text.ofPlayers(count(players)) : reasonsOf(failures)],
    [text.stalled, percent(stalledShare(quality)), text.stalls(count(stalls), number(stallsPerHour(quality)))],
    [text.behind, seconds(behindSeconds), ''],
    [text.dropped, percent(droppedPercent === null ? null : droppedPercent / 100), ''],
  ] as const
  return <List figures={figures} />
}

function Cmcd({ cmcd }: { readonly cmcd: Quality['cmcd'] }) {
  return (
    <>
      <h3>{text.cmcd}</h3>
      <List
        figures={[
          [text.players, count(cmcd.players), ''],
          [text.start, seconds(cmcd.startSeconds), ''],
          [text.starved, count(cmcd.starved), ''],
          [text.buffer, seconds(cmcd.bufferSeconds), ''],
          [text.throughput, cmcd.kbps === null ? '–' : text.megabits(short.format(cmcd.kbps / 1000)), ''],
        ]}
      />
    </>
  )
}

function OverTime({ series, resolution }: Pick<AudienceQuery, 'resolution'> & { readonly series: Series }) {
  const times = series.map(({ time }) => Date.parse(time) / 1000)
  const of = <T,>(figure: (quality: Quality) => T): (T | null)[] =>
    series.map(({ quality }) => (quality === undefined ? null : figure(quality)))
  const counts: readonly Line[] = [
    { label: text.failures, colour: 1, values: of(({ failures }) => failuresOf(failures)) },
    { label: text.stallsTitle, colour: 2, values: of(stallsOf) },
  ]
  const behind: readonly Line[] = [{ label: text.behind, colour: 1, values: of(({ behindSeconds }) => behindSeconds) }]
  return (
    <>
      <Legends lines={counts} />
      <Plot sentence={text.overTime[resolution]} times={times} format={count} lines={counts} />
      <Legends lines={behind} />
      <Plot sentence={text.behindOverTime[resolution]} times={times} format={seconds} lines={behind} />
    </>
  )
}

function List({ figures }: { readonly figures: readonly (readonly [string, string, string])[] }) {
  return (
    <dl class="figs">
      {figures.map(([title, value, more]) => (
        <div key={title}>
          <dt>{title}</dt>
          <dd>{value}</dd>
          {more !== '' && <dd class="delta">{more}</dd>}
        </div>
      ))}
    </dl>
  )
}

const reasonsOf = (failures: Quality['failures']): string =>
  Object.entries(failures)
    .map(([reason, n]) => `${text.reasons[reason as keyof typeof text.reasons] ?? reason} ${count(n)}`)
    .join(' · ')

const columnsOf = (by: Division, shown: Props['shown']): readonly Column<Reported>[] => [
  { id: 'value', title: words.analytics.audience.by[by], cell: ({ value }) => shown(by, value) },
  {
    id: 'players',
    title: text.players,
    kind: 'number',
    priority: 2,
    cell: ({ quality }) => count(quality.players + quality.cmcd.players),
  },
  {
    id: 'start',
    title: text.start,
    kind: 'number',
    cell: ({ quality }) => seconds(quality.startSecondsMedian ?? quality.cmcd.startSeconds),
  },
  { id: 'failures', title: text.failures, kind: 'number', cell: ({ quality }) => count(failuresOf(quality.failures)) },
  { id: 'stalled', title: text.stalled, kind: 'number', cell: ({ quality }) => percent(stalledShare(quality)) },
  {
    id: 'stalls',
    title: text.stallsTitle,
    kind: 'number',
    priority: 3,
    cell: ({ quality }) => count(stallsOf(quality)),
  },
]

const CSV_COLUMNS = [
  'players',
  'started',
  'startSecondsMedian',
  'startSeconds95',
  'playedSeconds',
  'stalls',
  'stalledSeconds',
] as const

const csvOf = (by: Division, rows: readonly Reported[]) => [
  [by, ...CSV_COLUMNS, 'startFailures'],
  ...rows.map(({ value, quality }) => [
    value,
    ...CSV_COLUMNS.map((column) => quality[column] ?? ''),
    failuresOf(quality.failures),
  ]),
]
