import type { Said } from '../../core/notices.ts'
import { TsIngest } from '../mpegts/ingest.ts'
import type { LinkTotals } from '../measure/linkMeter.ts'
import { NO_MEDIA, type PulledSource, type PulledSourceOptions, SilenceWatch } from '../pulling.ts'
import type { SenderEnd } from '../publishing.ts'
import { SrtCall, type SrtCallOptions, type SrtHalf, type SrtLink } from './caller.ts'
import { SrtReceiving, RECEIVING_TICK_MS } from './receiving.ts'

export type SrtPullOptions = Omit<PulledSourceOptions, 'socket' | 'url' | 'clock'> &
  Omit<SrtCallOptions, 'tickMs' | 'begin' | 'ended'>

/** Takes the MPEG-TS that an SRT listener sends, over a socket that is connected. */
export class SrtPull implements PulledSource {
  readonly #options: SrtPullOptions
  readonly #ingest: TsIngest
  readonly #silence = new SilenceWatch()
  #call: SrtCall | null = null
  #receiving: SrtReceiving | null = null
  #isOver = false

  constructor(options: SrtPullOptions) {
    this.#options = options
    this.#ingest = new TsIngest(options.sink, options)
  }

  get bytesIn(): number {
    return this.#call?.bytes.bytesIn ?? 0
  }

  get link(): LinkTotals | undefined {
    return this.#receiving?.link
  }

  start(): Promise<void> {
    this.#call = new SrtCall({
      ...this.#options,
      tickMs: RECEIVING_TICK_MS,
      begin: (link) => this.#begin(link),
      ended: (how) => this.#fail(how),
    })
    return Promise.resolve()
  }

  tick(): void {
    if (this.#silence.look(this.#ingest.packets)) this.#lose(NO_MEDIA)
  }

  end(): void {
    this.#isOver = true
    this.#receiving?.end()
    this.#call?.end()
  }

  #begin(link: SrtLink): SrtHalf {
    const { clock, leftOut, passphrase } = this.#options
    const receiving = new SrtReceiving({
      clock,
      leftOut,
      sequence: link.peerSequence,
      latencyMs: link.receiveLatencyMs,
      // The listener encrypts with the keys of the caller, until it makes the next.
      keys: passphrase === null ? null : (link.keys?.forReceiving(passphrase) ?? null),
      control: (fields) => link.control(fields),
      deliver: (body) => this.#deliver(body),
      gap: () => this.#ingest.gap(),
    })
    this.#receiving = receiving
    return {
      take: (packet, nowMs) => receiving.take(packet, nowMs),
      tick: (nowMs) => void receiving.tick(nowMs),
      // What waits behind a gap is better than nothing.
      leave: () => {
        receiving.finish()
        this.#ingest.end()
      },
    }
  }

  #deliver(body: Buffer): void {
    const refusal = this.#ingest.take(body)
    if (refusal !== null) this.#fail({ kind: 'unsuitable', ...refusal })
  }

  #lose(why: Said): void {
    this.#fail({ kind: 'lost', ...why })
  }

  #fail({ kind, message, sentences }: SenderEnd): void {
    if (this.#isOver) return
    this.end()
    this.#options.ended({ kind, message, ...(sentences && { sentences }) })
  }
}
