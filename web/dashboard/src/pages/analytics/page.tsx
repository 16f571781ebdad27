import type { ComponentChildren } from 'preact'
import { readAccountUsage, readAccountUsageByCountry, readAccountUsageSeries } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { useFollow } from '../../follow.ts'
import { sessionNews } from '../../live.ts'
import { LinkButton } from '../../parts/button.tsx'
import { Segment, TextField } from '../../parts/form.tsx'
import { Legends } from '../../parts/legend.tsx'
import { Bones, Empty, LoadError } from '../../parts/notice.tsx'
import { Card, Page } from '../../parts/page.tsx'
import { Plot } from '../../parts/plot.tsx'
import { bytes } from '../../parts/values.tsx'
import { linkTo, type PageArgs, setQuery } from '../../router.ts'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'
import { Audience } from './audience.tsx'
import { filtersOf } from './audienceQuery.ts'
import { BytesBars } from './bytesBars.tsx'
import { CsvButton } from './csvButton.tsx'
import { Protocols } from './protocols.tsx'
import { daysOf, type Range, rangeOf, resolutionOf, type Span, type Traffic, untilNow } from './range.ts'
import { Tokens } from './tokens.tsx'
import { TrackingIds } from './trackingIds.tsx'
import '../../parts/figures.css'

const text = words.analytics

const spanOf = (query: URLSearchParams): Span => {
  const asked = query.get('span')
  return asked === 'today' || asked === 'month' || asked === 'own' ? asked : 'week'
}

/** The audience, and the bytes that went in and out, by time, protocol, country, token and tracking id. */
export function AnalyticsPage({ query }: PageArgs) {
  const span = spanOf(query)
  const [from, to] = [query.get('from') ?? '', query.get('to') ?? '']
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  const range = rangeOf(daysOf(span, query, new Date(), zone), zone)
  const { startDate, stopDate } = range
  const load = useLoad(
    async (signal) => {
      const query = { ...range, mediaOnly: true }
      const [total, series, geo] = await Promise.all([
        call(readAccountUsage, { query }, { signal }),
        call(readAccountUsageSeries, { query: { ...query, resolution: resolutionOf(range) } }, { signal }),
        call(readAccountUsageByCountry, { query }, { signal }),
      ])
      return { total, series: series.bandwidth, geo: geo.geo, range }
    },
    [startDate, stopDate],
  )
  const { data } = load
  const isQuiet = data !== undefined && data.total.bytesIn + data.total.bytesOut === 0
  // The first bytes of a broadcast are counted a little after it has begun.
  useFollow(sessionNews, () => {
    if (isQuiet && Date.parse(stopDate) > Date.now()) load.reload()
  })
  return (
    <Page title={text.title} sub={text.sub(zone)} actions={<Ranges span={span} from={from} to={to} />}>
      {load.error && <LoadError error={load.error} onRetry={load.reload} />}
      {!data && !load.error && <Bones rows={5} />}
      {data && !isQuiet && <Audience span={span} query={query} zone={zone} />}
      {isQuiet && (
        <section class="card">
          <Empty
            title={text.none}
            action={canChange() && <LinkButton href={linkTo('/live')}>{words.overview.goLive}</LinkButton>}
          >
            {text.noneText}
          </Empty>
        </section>
      )}
      {data && !isQuiet && (
        <TrafficCard {...data}>{filtersOf(query).length > 0 && <p class="note">{text.ofAllStreams}</p>}</TrafficCard>
      )}
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

function Figures({ bytesOut, bytesIn }: Traffic) {
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

interface TrafficProps {
  readonly total: Traffic
  readonly series: Readonly<Record<string, Traffic>>
  readonly range: Range
  /** A note. */
  readonly children: ComponentChildren
}

function TrafficCard({ total, series, range, children }: TrafficProps) {
  const sums = untilNow(series, Date.now())
  const rows = sums.map(([at, { bytesOut, bytesIn }]) => [at, bytesOut, bytesIn])
  const lines = [
    { label: text.out, colour: 1, values: sums.map(([, { bytesOut }]) => bytesOut) },
    { label: text.in, colour: 2, values: sums.map(([, { bytesIn }]) => bytesIn) },
  ] as const
  const title = resolutionOf(range) === 'Hour' ? text.byHour : text.byDay
  return (
    <Card
      title={title}
      aside={<CsvButton name="sluice-traffic.csv" of={title} rows={[['time', 'bytesOut', 'bytesIn'], ...rows]} />}
    >
      {children}
      <Figures {...total} />
      <Legends lines={lines} />
      <Plot sentence={title} times={sums.map(([at]) => Date.parse(at) / 1000)} format={bytes} lines={lines} />
    </Card>
  )
}

const regions = new Intl.DisplayNames([words.locale], { type: 'region' })
/** The most countries that are shown. */
const COUNTRIES = 12

function Countries({ geo }: { readonly geo: Readonly<Record<string, Traffic>> }) {
  const rows = Object.entries(geo)
    .filter(([, { bytesOut }]) => bytesOut > 0)
    .toSorted(([, one], [, other]) => other.bytesOut - one.bytesOut)
  if (rows.length === 0) return null
  const csv = rows.map(([country, { bytesOut }]) => [country, bytesOut])
  return (
    <Card
      title={text.byCountry}
      aside={<CsvButton name="sluice-countries.csv" of={text.byCountry} rows={[['country', 'bytesOut'], ...csv]} />}
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
