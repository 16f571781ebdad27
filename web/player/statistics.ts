import { html, setText } from './dom.ts'
import { type Delivery, type Figures, kilobits } from './playback.ts'
import { WORDS } from './words.ts'

const PROTOCOLS: Readonly<Record<Delivery, string>> = { whep: 'WebRTC (WHEP)', hls: 'HLS' }

const NONE = '–'

type Row = readonly [label: string, text: (figures: Figures, delivery: Delivery) => string]

const shown = (value: number | null, text: (value: number) => string): string => (value === null ? NONE : text(value))

/** Made with the first player, which has its language then. */
const rowsOf = (): readonly Row[] => [
  [WORDS.protocol, (_figures, delivery) => PROTOCOLS[delivery]],
  [WORDS.size, ({ width, height }) => (height === 0 ? NONE : `${width} × ${height}`)],
  [WORDS.frames, ({ framesPerSecond }) => shown(framesPerSecond, (rate) => WORDS.perSecond(String(rate)))],
  [WORDS.codec, ({ codecs }) => codecs || NONE],
  [WORDS.bitrate, ({ bitrate }) => (bitrate === 0 ? NONE : kilobits(bitrate))],
  [WORDS.behindServer, ({ behindSeconds }) => shown(behindSeconds, seconds)],
  [WORDS.buffer, ({ bufferSeconds }) => shown(bufferSeconds, seconds)],
  [WORDS.loss, ({ loss }) => shown(loss, (share) => `${WORDS.number(share * 100, 1)} %`)],
  [WORDS.roundTrip, ({ roundTripMs }) => shown(roundTripMs, (ms) => `${ms} ms`)],
  [WORDS.dropped, ({ dropped }) => shown(dropped, String)],
]

const seconds = (value: number): string => `${WORDS.number(value, 2)} s`

/** The rows of the statistics: a term and its value each. They are made once, so that readers of the screen keep their place. */
export class Statistics {
  readonly list = html('dl')
  readonly #rows = rowsOf().map(([label, text]) => {
    const value = html('dd', {}, NONE)
    this.list.append(html('dt', {}, label), value)
    return { value, text }
  })

  /** Null: nothing is played. */
  show(figures: Figures | null, delivery: Delivery | null): void {
    for (const { value, text } of this.#rows)
      setText(value, figures === null || delivery === null ? NONE : text(figures, delivery))
  }
}
