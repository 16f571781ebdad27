import { readAccountUsage, readAccountUsageByCountry, readAccountUsageSeries } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { Segment, TextField } from '../../parts/form.tsx'
import { Bones, Empty, LoadError } from '../../parts/notice.tsx'
import { Card, Page } from '../../parts/page.tsx'
import { Plot } from '../../parts/plot.tsx'
import { bytes } from '../../parts/values.tsx'
import { type PageArgs, setQuery } from '../../router.ts'
import { words } from '../../words/words.ts'
import { Audience } from './audience.tsx'
import { BytesBars } from './bytesBars.tsx'
import { CsvButton } from './csvButton.tsx'
import { Protocols } from './protocols.tsx'
import { type Range, rangeOf, type Span, stepsOf } from './range.ts'
import { Tokens } from './tokens.tsx'
import { TrackingIds } from './trackingIds.tsx'
import '../../parts/figures.css'

const text = words.analytics
const MINUTE_MS = 60_000

const spanOf = (query: URLSearchParams): Span => {
  const asked = query.get('span')
  return asked === 'today' || asked === 'month' || asked === 'own' ? asked : 'week'
}

/** The audience, and the bytes that went in and out, by time, protocol, country, token and tracking id. */
export function AnalyticsPage({ query }: PageArgs) {
  const span = spanOf(query)
  const [from, to] = [query.get('from') ?? '', query.get('to') ?? '']
  // To the minute, so that drawing the page again asks for nothing new.
  const range = rangeOf(span, from, to, Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS)
  const { startDate, stopDate, resolution } = range
  const load = useLoad(
    async (signal) => {
      const query = { startDate, stopDate, mediaOnly: true }
      const [total, series, geo] = await Promise.all([
        call(readAccountUsage, { query }, { signal }),
        call(readAccountUsageSeries, { query: { ...query, resolution } }, { signal }),
        call(readAccountUsageByCountry, { query }, { signal }),
      ])
      return { total, series: series.bandwidth, geo: geo.geo, range }
    },
    [startDate, stopDate, resolution],
  )
  const { data } = load
  const isQuiet = data !== undefined && data.total.bytesIn + data.total.bytesOut === 0
  return (
    <Page title={text.title} sub={text.sub} actions={<Ranges span={span} from={from} to={to} />}>
      {load.error && <LoadError error={load.error} onRetry={load.reload} />}
      {!data && !load.error && <Bones rows={5} />}
      {data && <Figures bytesOut={data.total.bytesOut} bytesIn={data.total.bytesIn} />}
      {data && !isQuiet && <Audience span={span} query={query} />}
      {isQuiet && <Empty title={text.none}>{text.noneText}</Empty>}
      {data && !isQuiet && <Traffic series={data.series} range={data.range} />}
      {data && !isQuiet && (
        <div class="cols half">
          <Protocols range={data.range} />
          <Countries geo={data.geo} />
        </div>
      )}
      {data && !isQuiet && <Tokens range={data.range} />}
      {data && !isQuiet && <TrackingIds range={data.range} />}
    </Page>
  )
}

function Ranges({ span, from, to }: { readonly span: Span; readonly from: string; readonly to: string }) {
  const choices = (['today', 'week', 'month', 'own'] as const).map((one) => [one, text.spans[one]] as const)
  return (
    <>
      <Segment label={text.span} choices={choices} value={span} onChange={(chosen) => setQuery({ span: chosen })} />
      {span === 'own' && (
        <div class="pair">
          <TextField
            label={text.from}
            type="date"
            value={from}
            max={to}
            onValue={(value) => setQuery({ from: value })}
          />
          <TextField label={text.to} type="date" value={to} min={from} onValue={(value) => setQuery({ to: value })} />
        </div>
      )}
    </>
  )
}

function Figures({ bytesOut, bytesIn }: { readonly bytesOut: number; readonly bytesIn: number }) {
  return (
    <dl class="figs">
      <div>
        <dt>{text.out}</dt>
        <dd>{bytes(bytesOut)}</dd>
      </div>
      <div>
        <dt>{text.in}</dt>
        <dd>{bytes(bytesIn)}</dd>
      </div>
    </dl>
  )
}

type Traffic = Record<string, { readonly bytesOut: number; readonly bytesIn: number }>

function Traffic({ series, range }: { readonly series: Traffic; readonly range: Range }) {
  const byTime = new Map(Object.entries(series).map(([at, traffic]) => [Date.parse(at) / 1000, traffic]))
  const times = stepsOf(range)
  const out = times.map((time) => byTime.get(time)?.bytesOut ?? 0)
  const into = times.map((time) => byTime.get(time)?.bytesIn ?? 0)
  const rows = times.map((time, row) => [new Date(time * 1000).toISOString(), out[row] ?? 0, into[row] ?? 0])
  const title = range.resolution === 'Hour' ? text.byHour : text.byDay
  return (
    <Card
      title={title}
      aside={<CsvButton name="sluice-traffic.csv" rows={[['time', 'bytesOut', 'bytesIn'], ...rows]} />}
    >
      <Plot
        sentence={title}
        times={times}
        format={bytes}
        lines={[
          { label: text.out, colour: 1, values: out },
          { label: text.in, colour: 2, values: into },
        ]}
      />
    </Card>
  )
}

const regions = new Intl.DisplayNames([words.locale], { type: 'region' })
/** The most countries that are shown. */
const COUNTRIES = 12

function Countries({ geo }: { readonly geo: Traffic }) {
  const rows = Object.entries(geo)
    .filter(([, { bytesOut }]) => bytesOut > 0)
    .toSorted(([, one], [, other]) => other.bytesOut - one.bytesOut)
  if (rows.length === 0) return null
  const csv = rows.map(([country, { bytesOut }]) => [country, bytesOut])
  return (
    <Card
      title={text.byCountry}
      aside={<CsvButton name="sluice-countries.csv" rows={[['country', 'bytesOut'], ...csv]} />}
    >
      <BytesBars
        rows={rows.slice(0, COUNTRIES).map(([country, { bytesOut }]) => ({
          key: country,
          label: country === 'ZZ' ? text.unknown : (regions.of(country) ?? country),
          bytes: bytesOut,
        }))}
      />
    </Card>
  )
}
