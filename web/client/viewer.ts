import { Client, type ClientOptions, LOOK_MS } from './client.ts'
import { browser } from './environment.ts'
import type { SluiceError, SluiceErrorCode } from './errors.ts'
import { Freezes } from './freezes.ts'
import type { Report } from './playout.ts'
import { type Counted, NOTHING_COUNTED, QualityReporter } from './quality.ts'
import type { ViewerLayers } from './layers.ts'

export interface ViewerOptions extends ClientOptions {
  /** Default true. */
  readonly video?: boolean | undefined
  /** Default true. */
  readonly audio?: boolean | undefined
  /** Called with the media of each new connection: give it to a video element. */
  readonly onMedia?: ((media: MediaStream) => void) | undefined
  /** Whether it reports to the server how well it plays, without anything about the viewer. Default true. */
  readonly reports?: boolean | undefined
  /** For players that try several protocols. */
  readonly startedAs?: StartedAs | undefined
}

/** What came before this viewer. */
export interface StartedAs {
  /** When the user wanted to play, as `Date.now()` says it. */
  readonly wantedAtMs: number
  /** Changes of the protocol that led here. */
  readonly switches: number
  /** Whether another protocol is tried after this, so that it is no failure to start. */
  readonly fallsBack: (code: SluiceErrorCode) => boolean
}

/** Until the first picture it looks this often. */
const FIRST_LOOK_MS = 100

/**
 * Watches over WHEP. Waits for a publisher, returns after interruptions, and ends only when the server refuses for good.
 * The endpoint is `/api/whep/{account}/{stream}`.
 */
export class WhepViewer extends Client {
  readonly #options: ViewerOptions
  readonly #quality: QualityReporter
  protected override readonly hears = 'inbound-rtp'
  protected override readonly mayReturn = false
  #counted: Counted = NOTHING_COUNTED
  #freezes = new Freezes()
  #media: MediaStream | null = null
  /** The media of the connection that is being made. */
  #coming: MediaStream | null = null

  constructor(options: ViewerOptions) {
    super(options)
    this.#options = options
    this.#quality = new QualityReporter({
      environment: options.environment ?? browser,
      isOn: options.reports !== false,
      wantedAtMs: options.startedAs?.wantedAtMs,
      switches: options.startedAs?.switches,
      count: () => this.#counted,
    })
  }

  /** The media of the present connection; null before the first. */
  get media(): MediaStream | null {
    return this.#media
  }

  /**
   * Resolves with the media when it flows for the first time; a stream without a publisher may take long.
   * @throws SluiceError when the server refuses for good
   */
  start(): Promise<MediaStream> {
    return this.begin(() => this.#media ?? new MediaStream())
  }

  /** Since when it tries to show a picture, as `Date.now()` says it; now, if it shows one. */
  get wantedAtMs(): number {
    return this.#quality.wantedAtMs
  }

  /** Says that a picture of this height is shown, a little earlier than the statistics of the browser do. */
  frameIsShown(height: number): void {
    if (this.#counted.frames === 0) this.#counted = { ...this.#counted, frames: 1, height }
    this.#quality.frame()
  }

  /**
   * The layers of a stream with simulcast, the largest first. With `choice` it chooses one by its `encodingId`; null lets
   * the bandwidth decide again. Null: there is no connection, or the server does not take the choice.
   */
  layers(choice?: string | null): Promise<ViewerLayers | null> {
    return this.session?.layers(choice) ?? Promise.resolve(null)
  }

  protected override prepare(pc: RTCPeerConnection): void {
    const media = new MediaStream()
    if (this.#options.video !== false) pc.addTransceiver('video', { direction: 'recvonly' })
    if (this.#options.audio !== false) pc.addTransceiver('audio', { direction: 'recvonly' })
    pc.addEventListener('track', ({ track }) => media.addTrack(track))
    this.#coming = media
    this.#quality.attempt()
  }

  protected override opened(resource: string): void {
    this.#counted = NOTHING_COUNTED
    this.#quality.session(`${resource}/report`)
  }

  protected override connected(): void {
    this.#media = this.#coming
    if (this.#media !== null) this.#options.onMedia?.(this.#media)
    this.#freezes = new Freezes()
  }

  protected override closed(reason: SluiceError, isFinal: boolean): void {
    if (this.#options.startedAs?.fallsBack(reason.code)) this.#quality.abandon()
    else this.#quality.closed(reason.code, isFinal)
  }

  /** Without any media so far, a connection that does not come up will not come up the next time either. */
  protected override triesAgain(reason: SluiceError, lostAtMs: number | null): boolean {
    return reason.isTemporary || (reason.code === 'not_connected' && lostAtMs !== null)
  }

  protected override looked(all: readonly Report[]): number {
    this.#counted = this.#freezes.read(all, this.env.now())
    if (!this.#freezes.hasMoved) return FIRST_LOOK_MS
    this.#quality.frame()
    return LOOK_MS
  }
}
