import { useEffect, useState } from 'preact/hooks'
import { type Answer, readStreamHealth } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
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

const percent = (value: number): string => `${count(Math.round(value * 10) / 10)}%`
const seconds = (value: number): string => `${count(Math.round(value * 10) / 10)} s`
const millis = (value: number): string => `${count(Math.round(value))} ms`

/** In the unit of its plot. */
const PLOTS: readonly { figure: Figure; title: string; scale: number; format: (value: number) => string }[] = [
  { figure: 'bitrateIn', title: text.bitrate, scale: 1, format: bitrate },
  { figure: 'frameRate', title: text.frames, scale: 1, format: (value) => count(Math.round(value)) },
  { figure: 'keyframeMs', title: text.keyframes, scale: 1 / 1000, format: seconds },
  { figure: 'packetLoss', title: text.loss, scale: 100, format: percent },
  { figure: 'roundTripMs', title: text.roundTrip, scale: 1, format: millis },
]

/** How the media of a stream came in, in the last hour, also when it is off the air now. */
export function LastHour({ streamName }: { readonly streamName: string }) {
  const [slot, setSlot] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setSlot((before) => before + 1), SLOT_MS)
    return () => clearInterval(timer)
  }, [])
  const path = { streamName }
  const { data, error, reload } = useLoad((signal) => call(readStreamHealth, { path }, { signal }), [streamName, slot])
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
      ({ figure, title, scale, format }) => {
        const values = points.map(({ [figure]: value }) => (value === undefined ? null : value * scale))
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
