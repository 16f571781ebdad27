import { codecName } from '../codecName.ts'
import { Legend } from '../parts/legend.tsx'
import { Plot } from '../parts/plot.tsx'
import { bitrate, count } from '../parts/values.tsx'
import { words } from '../words/words.ts'
import { type Reading, readings } from './broadcast.ts'
import '../parts/figures.css'

const text = words.goLive

const last = (): Reading | undefined => readings.value.at(-1)

const frames = ({ video }: Reading): string =>
  video === null ? text.noVideo : `${video.height}p · ${text.perSecond(video.framesPerSecond)}`

/** One line: bitrate, resolution and frame rate. */
export function Sending() {
  const now = last()
  return <span class="num">{now ? `${bitrate(now.bitrate)} · ${frames(now)}` : words.parts.notYet}</span>
}

/** What is sent, and how well. */
export function SendingFigures({ viewers }: { readonly viewers: number }) {
  const now = last()
  const none = '–'
  const figures = [
    [text.figures.sending, now ? bitrate(now.bitrate) : none],
    [text.figures.video, now ? frames(now) : none],
    [text.figures.lost, now ? `${count(Math.round(now.loss * 1000) / 10)}%` : none],
    [text.figures.roundTrip, roundTripOf(now) ?? none],
    [text.figures.codec, now ? codecs(now) : none],
    [text.figures.viewers, String(viewers)],
  ] as const
  return (
    <dl class="figs six">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

const roundTripOf = (now: Reading | undefined): string | null =>
  now && now.roundTripMs !== null ? `${now.roundTripMs} ms` : null

const codecs = ({ video, audioCodec }: Reading): string =>
  [codecName(video?.codec ?? ''), codecName(audioCodec)].filter(Boolean).join(' ') || '–'

/** The bitrate of the last minute beside the one that was asked for. */
export function LastMinute({ wanted }: { readonly wanted: number }) {
  const shown = readings.value
  return (
    <section class="card pad" aria-label={text.figures.sending}>
      <figure class="plot short">
        <figcaption class="plot-head">
          <div class="lead">
            <h2>{text.lastMinute}</h2>
          </div>
          <ul class="legend">
            <Legend colour={1}>{text.figures.sending}</Legend>
            <Legend colour={2}>{text.wanted}</Legend>
          </ul>
        </figcaption>
        <Plot
          sentence={text.plotSentence(bitrate(last()?.bitrate ?? 0))}
          times={shown.map(({ atMs }) => Math.round(atMs / 1000))}
          format={bitrate}
          lines={[
            { label: text.figures.sending, colour: 1, values: shown.map((one) => one.bitrate) },
            { label: text.wanted, colour: 2, values: shown.map(() => wanted) },
          ]}
        />
      </figure>
    </section>
  )
}
