import { type Answer, readStreamHealth } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { useEvery } from '../../follow.ts'
import { LoadError } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { Plot } from '../../parts/plot.tsx'
import { bitrate, count } from '../../parts/values.tsx'
import { words } from '../../words/words.ts'

const text = words.stream.media

type Source = NonNullable<Answer<typeof readStreamHealth>['history']>['sources'][number]
type Point = Source['points'][number]
type Figure = Exclude<keyof Point, 'at'>

/** A point is added in this time. */
const SLOT_MS = 10_000
/** Without points for longer there was no media. A node with many publishers adds theirs less often. */
const GAP_SECONDS = 60

const tenths = (value: number): number => Math.round(value * 10) / 10

/** `of` has values in the unit of the plot, and as exact as they are shown: labels of its axis would repeat otherwise. */
const PLOTS: readonly {
  figure: Figure
  title: string
  of: (value: number) => number
  format: (value: number) => string
}[] = [
  { figure: 'bitrateIn', title: text.bitrate, of: (bits) => bits, format: bitrate },
  { figure: 'frameRate', title: text.frames, of: Math.round, format: count },
  {
    figure: 'keyframeMs',
    title: text.keyframes,
    of: (ms) => tenths(ms / 1000),
    format: (value) => `${count(value)} s`,
  },
  { figure: 'packetLoss', title: text.loss, of: (share) => tenths(share * 100), format: (value) => `${count(value)}%` },
  { figure: 'roundTripMs', title: text.roundTrip, of: Math.round, format: (value) => `${count(value)} ms` },
]

/** How the media of a stream came in, in the last hour, also when it is off the air now. */
export function LastHour({ streamName }: { readonly streamName: string }) {
  const path = { streamName }
  const { data, error, reload } = useLoad((signal) => call(readStreamHealth, { path }, { signal }), [streamName])
  useEvery(SLOT_MS, reload)
  if (error) return error.status === 404 ? null : <LoadError error={error} onRetry={reload} />
  const sources = data?.history?.sources ?? []
  return (
    <>
      {sources.map((source) => (
        <Card
          key={source.sourceId ?? ''}
          title={sources.length === 1 ? text.lastHour : `${text.lastHour}: ${source.sourceId ?? text.mainSource}`}
        >
          <SourcePlots points={withGaps(source.points)} />
        </Card>
      ))}
    </>
  )
}

const SourcePlots = ({ points }: { readonly points: readonly Point[] }) => (
  <div class="last-hour">
    {PLOTS.filter(({ figure }) => points.some((point) => point[figure] !== undefined)).map(
      ({ figure, title, of, format }) => {
        const values = points.map(({ [figure]: value }) => (value === undefined ? null : of(value)))
        const last = values.findLast((value) => value !== null) ?? 0
        return (
          <figure key={figure} class="plot">
            <figcaption class="plot-head">
              <h3>{title}</h3>
              <span class="num">{format(last)}</span>
            </figcaption>
            <Plot
              sentence={`${title}, ${text.lastHour}: ${format(last)}`}
              times={points.map(({ at }) => Date.parse(at) / 1000)}
              lines={[{ label: title, colour: 1, values }]}
              format={format}
            />
          </figure>
        )
      },
    )}
  </div>
)

/** With a point without figures where the line has to break. */
function withGaps(points: readonly Point[]): Point[] {
  return points.flatMap((point, index) => {
    const next = points[index + 1]
    const atMs = Date.parse(point.at)
    const isLast = next === undefined || Date.parse(next.at) - atMs <= GAP_SECONDS * 1000
    return isLast ? [point] : [point, { at: new Date(atMs + SLOT_MS).toISOString() }]
  })
}
