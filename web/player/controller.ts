import type { Environment } from '../client/environment.ts'
import type { SluiceError, SluiceErrorCode } from '../client/index.ts'
import { hlsUrl, type Wanted } from './address.ts'
import { HlsPlayback } from './hlsPlayback.ts'
import type { Delivery, Figures, Level, Playback, PlaybackState } from './playback.ts'
import { WhepPlayback } from './whepPlayback.ts'

/**
 * `idle`: nothing happens until `play()`. `waiting`: the stream has had no broadcast here yet. `ended`: it had one, and
 * begins again by itself. `interrupted`: it comes back, or becomes `ended`. `refused`: it is over until something changes.
 */
export type PlayerState = 'idle' | 'connecting' | 'waiting' | 'playing' | 'interrupted' | 'ended' | 'refused'

export interface Listener {
  readonly onState: (state: PlayerState, reason: SluiceError | null) => void
  readonly onMedia: () => void
  readonly onLevels: (levels: readonly Level[], chosen: number) => void
}

/** HLS may work where WHEP does not, for these reasons. */
const HLS_MAY_WORK: ReadonlySet<SluiceErrorCode> = new Set(['not_connected', 'no_webrtc', 'codec_not_supported'])

/** Plays one stream after the other in a video element, by the protocol that works. */
export class Controller {
  readonly #video: HTMLVideoElement
  readonly #environment: Environment
  readonly #listener: Listener
  #wanted: Wanted | null = null
  #playback: Playback | null = null
  #state: PlayerState = 'idle'
  #reason: SluiceError | null = null
  #hasPlayed = false
  /** What played the stream before; null: nothing did. */
  #before: { readonly key: string; readonly delivery: Delivery } | null = null

  constructor(video: HTMLVideoElement, environment: Environment, listener: Listener) {
    this.#video = video
    this.#environment = environment
    this.#listener = listener
  }

  get state(): PlayerState {
    return this.#state
  }

  get reason(): SluiceError | null {
    return this.#reason
  }

  /** Null: nothing is played. */
  get delivery(): Delivery | null {
    return this.#playback?.delivery ?? null
  }

  start(wanted: Wanted): void {
    this.stop()
    this.#wanted = wanted
    this.#hasPlayed = false
    this.#begin(wanted.stream === null || wanted.mode === 'hls' ? 'hls' : 'whep', this.#environment.now())
  }

  stop(): void {
    const playback = this.#playback
    this.#playback = null
    playback?.stop()
    this.#set('idle', null)
  }

  choose(level: number): void {
    this.#playback?.choose(level)
  }

  lookForLevels(): void {
    this.#playback?.lookForLevels()
  }

  figures(): Promise<Figures | null> {
    return this.#playback?.figures() ?? Promise.resolve(null)
  }

  /** @param wantedAtMs when the user wanted to play, or the media was lost */
  #begin(delivery: Delivery, wantedAtMs: number): void {
    const wanted = this.#wanted
    if (wanted === null) return
    this.#playback?.stop()
    const key = `${wanted.server} ${wanted.stream} ${wanted.playlist}`
    const isSwitched = this.#before?.key === key && this.#before.delivery !== delivery
    this.#before = { key, delivery }
    const target = {
      ...wanted,
      video: this.#video,
      environment: this.#environment,
      url: urlOf(wanted, delivery),
      hasVariants: wanted.stream === null,
      startedAs: {
        wantedAtMs,
        switches: isSwitched ? 1 : 0,
        fallsBack: (code: SluiceErrorCode) => this.#fallsBack({ code }),
      },
      onState: (state: PlaybackState, reason: SluiceError | null) => this.#report(state, reason),
      onEnd: (reason: SluiceError) => this.#over(reason),
      onMedia: this.#listener.onMedia,
      onLevels: this.#listener.onLevels,
    }
    const playback: Playback = delivery === 'whep' ? new WhepPlayback(target) : new HlsPlayback(target)
    this.#playback = playback
    playback.start()
  }

  #report(state: PlaybackState, reason: SluiceError | null): void {
    if (reason !== null && this.#fallsBack(reason)) return this.#fallBack()
    if (state === 'playing') this.#hasPlayed = true
    this.#set(state === 'waiting' && this.#hasPlayed ? 'ended' : state, reason)
  }

  #over(reason: SluiceError): void {
    if (this.#fallsBack(reason)) return this.#fallBack()
    this.#playback?.stop()
    this.#playback = null
    this.#set('refused', reason)
  }

  #fallsBack({ code }: Pick<SluiceError, 'code'>): boolean {
    return this.#wanted?.mode === 'auto' && this.delivery === 'whep' && HLS_MAY_WORK.has(code)
  }

  #fallBack(): void {
    this.#begin('hls', this.#playback?.wantedAtMs ?? this.#environment.now())
  }

  #set(state: PlayerState, reason: SluiceError | null): void {
    if (this.#state === state && this.#reason?.code === reason?.code) return
    this.#state = state
    this.#reason = reason
    this.#listener.onState(state, reason)
  }
}

function urlOf(wanted: Wanted, delivery: Delivery): string {
  const { server, stream, playlist } = wanted
  if (stream === null) return new URL(playlist, document.baseURI).href
  return delivery === 'whep' ? `${server}api/whep/${stream}` : hlsUrl(wanted, 'index.m3u8')
}
