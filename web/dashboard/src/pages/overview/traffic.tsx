import type { ComponentChildren } from 'preact'
import { type Answer, readLiveSeries } from '#api/tokens.ts'
import { Legends } from '../../parts/legend.tsx'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { useEvery } from '../../follow.ts'
import { totals } from '../../live.ts'
import { LoadError } from '../../parts/notice.tsx'
import { Segment } from '../../parts/form.tsx'
import { type Line, Plot } from '../../parts/plot.tsx'
import { bitrate, count } from '../../parts/values.tsx'
import { setQuery } from '../../router.ts'
import { words } from '../../words/words.ts'
import '../../parts/figures.css'

const text = words.overview
const MINUTE_MS = 60_000

export type Range = 'hour' | 'day'

type Series = Answer<typeof readLiveSeries>

/** Viewers and bytes of the last hour or day. They are loaded again each minute, when a slot is complete. */
export function useSeries(range: Range) {
  const series = useLoad((signal) => call(readLiveSeries, { query: { range } }, { signal }), [range])
  useEvery(MINUTE_MS, series.reload)
  return series
}

const timesOf = ({ from, slotSeconds }: Series, slots: number): number[] =>
  Array.from({ length: slots }, (_, slot) => Date.parse(from) / 1000 + slot * slotSeconds)

interface PlotCardProps {
  readonly series: ReturnType<typeof useSeries>
  readonly title: string
  readonly figure: ComponentChildren
  readonly note: string
  readonly aside?: ComponentChildren
  readonly lines: readonly Line[]
  readonly format: (value: number) => string
}

function PlotCard({ series, title, figure, note, aside, lines, format }: PlotCardProps) {
  const { data, error } = series
  return (
    <section class="card pad" aria-label={title}>
      <figure class="plot">
        <figcaption class="plot-head">
          <div class="lead">
            <h2>{title}</h2>
            <p class="fig">{figure}</p>
            <p class="delta">{note}</p>
          </div>
          {aside}
          {lines.length > 1 && <Legends lines={lines} />}
        </figcaption>
        {error && <LoadError error={error} onRetry={series.reload} />}
        <Plot
          sentence={`${title}. ${note}`}
          times={data ? timesOf(data, lines[0]?.values.length ?? 0) : []}
          lines={lines}
          format={format}
        />
      </figure>
    </section>
  )
}

/** Viewers over time, with the choice of the time. */
export function ViewersPlot({
  series,
  range,
}: {
  readonly series: ReturnType<typeof useSeries>
  readonly range: Range
}) {
  const values = series.data?.series.viewers ?? []
  const most = Math.max(0, ...values, totals.value.viewers)
  return (
    <PlotCard
      series={series}
      title={text.viewers}
      figure={
        <>
          {count(totals.value.viewers)} <small>{text.now}</small>
        </>
      }
      note={text.most[range](count(most))}
      aside={
        <Segment<Range>
          label={text.range}
          choices={[
            ['hour', text.ranges.hour],
            ['day', text.ranges.day],
          ]}
          value={range}
          onChange={(chosen) => setQuery({ range: chosen === 'day' ? chosen : undefined })}
        />
      }
      lines={[{ label: text.viewers, colour: 1, values }]}
      format={count}
    />
  )
}

/** Bits a second of each slot but the last, which is in progress. */
const rates = (bytes: readonly number[] = [], slotSeconds = 60): number[] =>
  bytes.slice(0, -1).map((one) => (one * 8) / slotSeconds)

/** Bandwidth over time. */
export function BandwidthPlot({ series }: { readonly series: ReturnType<typeof useSeries> }) {
  const { data } = series
  const { bitrateIn, bitrateOut } = totals.value
  return (
    <PlotCard
      series={series}
      title={text.bandwidth}
      figure={
        <>
          {bitrate(bitrateOut)} <small>{text.out}</small>
        </>
      }
      note={text.into(bitrate(bitrateIn))}
      lines={[
        { label: text.outLine, colour: 1, values: rates(data?.series.bytesOut, data?.slotSeconds) },
        { label: text.inLine, colour: 2, values: rates(data?.series.bytesIn, data?.slotSeconds) },
      ]}
      format={bitrate}
    />
  )
}
