import { type Answer, readAudience } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { useEvery } from '../../follow.ts'
import { Button } from '../../parts/button.tsx'
import { Segment } from '../../parts/form.tsx'
import { Legends } from '../../parts/legend.tsx'
import { Bones, LoadError } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { Plot } from '../../parts/plot.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { count, duration } from '../../parts/values.tsx'
import { linkTo, setQuery } from '../../router.ts'
import { words } from '../../words/words.ts'
import { audienceQueryOf, changeOf, type Division, divisionsBeside, filtersOf } from './audienceQuery.ts'
import { CsvButton } from './csvButton.tsx'
import { Quality } from './quality.tsx'
import type { Span } from './range.ts'

const text = words.analytics.audience
const LOOK_MS = 5_000

type Report = Answer<typeof readAudience>
type Figures = Omit<Report['before'], 'from' | 'until' | 'quality'>
type Row = NonNullable<Report['by']['country']>[number]

/** Who watched, how long, and how many at once, in the reader's days. */
export function Audience({
  span,
  query,
  zone,
}: {
  readonly span: Span
  readonly query: URLSearchParams
  readonly zone: string
}) {
  const asked = audienceQueryOf(span, query, new Date(), zone)
  const load = useLoad((signal) => call(readAudience, { query: asked }, { signal }), [JSON.stringify(asked)])
  const { data, reload } = load
  useEvery(LOOK_MS, reload)
  const { by } = asked
  const rows = (by && data?.by[by]) ?? []
  const series = (data?.series ?? []).filter(({ time }) => Date.parse(time) <= Date.now())
  return (
    <>
      <Card title={text.title} aside={<Filters query={query} />}>
        {load.error && <LoadError error={load.error} onRetry={reload} />}
        {!data && !load.error && <Bones rows={4} isTall />}
        {data && <Four total={data.total} before={data.before} />}
        {data && <OverTime series={series} resolution={asked.resolution} />}
        {data && by && <Divided rows={rows.filter(({ watchSeconds }) => watchSeconds > 0)} by={by} query={query} />}
        <p class="note">{text.note}</p>
      </Card>
      {data && (
        <Quality
          total={data.total.quality}
          series={series}
          rows={rows}
          by={by}
          resolution={asked.resolution}
          shown={shownValue}
        />
      )}
    </>
  )
}

/** The filters of the address, each with a button that takes it away. */
function Filters({ query }: { readonly query: URLSearchParams }) {
  const filters = filtersOf(query)
  if (filters.length === 0) return null
  return (
    <div class="actions">
      {filters.map(([by, value]) => (
        <Button key={by} size="small" icon="close" onClick={() => setQuery({ [by]: undefined })}>
          {text.only(text.by[by], shownValue(by, value))}
        </Button>
      ))}
    </div>
  )
}

function Four({ total, before }: { readonly total: Figures; readonly before: Figures }) {
  const figures = (['views', 'viewers', 'watchSeconds', 'mostAtOnce'] as const).map((name) => {
    const show = name === 'watchSeconds' ? duration : count
    return {
      name,
      now: show(total[name]),
      before: show(before[name]),
      change: changeOf(total[name], before[name], words.locale),
    }
  })
  return (
    <dl class="figs">
      {figures.map(({ name, now, before: was, change }) => (
        <div key={name}>
          <dt>{text[name]}</dt>
          <dd>{now}</dd>
          <dd class="delta">{text.before(was, change)}</dd>
        </div>
      ))}
    </dl>
  )
}

function OverTime({
  series,
  resolution,
}: {
  readonly series: NonNullable<Report['series']>
  readonly resolution: 'Hour' | 'Day'
}) {
  const lines = [
    { label: text.views, colour: 1, values: series.map(({ views }) => views) },
    { label: text.mostAtOnce, colour: 2, values: series.map(({ mostAtOnce }) => mostAtOnce) },
  ] as const
  return (
    <>
      <Legends lines={lines} />
      <Plot
        sentence={text.overTime[resolution]}
        times={series.map(({ time }) => Date.parse(time) / 1000)}
        format={count}
        lines={lines}
      />
    </>
  )
}

interface DividedProps {
  readonly rows: readonly Row[]
  readonly by: Division
  readonly query: URLSearchParams
}

function Divided({ rows, by, query }: DividedProps) {
  const choices = divisionsBeside(filtersOf(query)).map((one) => [one, text.by[one]] as const)
  const csv = rows.map(({ value, views, viewers, watchSeconds, mostAtOnce }) => [
    value,
    views,
    viewers,
    watchSeconds,
    mostAtOnce,
  ])
  return (
    <>
      <div class="actions">
        {choices.length > 1 && (
          <Segment label={text.divide} choices={choices} value={by} onChange={(chosen) => setQuery({ by: chosen })} />
        )}
        <span class="end">
          <CsvButton
            name="sluice-audience.csv"
            of={text.by[by]}
            rows={[[by, 'views', 'viewers', 'watchSeconds', 'mostAtOnce'], ...csv]}
          />
        </span>
      </div>
      {rows.length === 0 ? (
        <p class="note">{text.none}</p>
      ) : (
        <Table caption={text.by[by]} rows={rows} keyOf={({ value }) => value} columns={columnsOf(by, query)} />
      )}
    </>
  )
}

function columnsOf(by: Division, query: URLSearchParams): readonly Column<Row>[] {
  const link = (value: string): string =>
    linkTo('/analytics', { ...Object.fromEntries(query), [by]: value, by: undefined })
  return [
    {
      id: 'value',
      title: text.by[by],
      cell: ({ value }) => (
        <a class="row" href={link(value)}>
          {shownValue(by, value)}
        </a>
      ),
    },
    { id: 'watch', title: text.watchSeconds, kind: 'number', cell: ({ watchSeconds }) => duration(watchSeconds) },
    { id: 'views', title: text.views, kind: 'number', cell: ({ views }) => count(views) },
    { id: 'viewers', title: text.viewers, kind: 'number', priority: 2, cell: ({ viewers }) => count(viewers) },
    { id: 'most', title: text.mostAtOnce, kind: 'number', priority: 3, cell: ({ mostAtOnce }) => count(mostAtOnce) },
  ]
}

const regions = new Intl.DisplayNames([words.locale], { type: 'region' })

function shownValue(by: Division, value: string): string {
  if (by === 'streamName') return value
  if (value === 'unknown' || value === 'ZZ') return words.analytics.unknown
  if (by === 'country') return regions.of(value) ?? value
  if (by === 'protocol') return value.toUpperCase()
  if (by === 'device') return text.devices[value as keyof typeof text.devices] ?? value
  return value === 'other' && by === 'site' ? text.otherSites : value
}
