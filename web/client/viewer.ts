import { Client, type ClientOptions } from './client.ts'
import type { SluiceError } from './errors.ts'

export interface ViewerOptions extends ClientOptions {
  /** Default true. */
  readonly video?: boolean | undefined
  /** Default true. */
  readonly audio?: boolean | undefined
  /** Called with the media of each new connection: give it to a video element. */
  readonly onMedia?: ((media: MediaStream) => void) | undefined
}

/**
 * Watches over WHEP. Waits for a publisher, returns after interruptions, and ends only when the server refuses for good.
 * The endpoint is `/api/whep/{account}/{stream}`.
 */
export class WhepViewer extends Client {
  readonly #options: ViewerOptions
  #media: MediaStream | null = null
  /** The media of the connection that is being made. */
  #coming: MediaStream | null = null

  constructor(options: ViewerOptions) {
    super(options)
    this.#options = options
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

  protected override prepare(pc: RTCPeerConnection): void {
    const media = new MediaStream()
    if (this.#options.video !== false) pc.addTransceiver('video', { direction: 'recvonly' })
    if (this.#options.audio !== false) pc.addTransceiver('audio', { direction: 'recvonly' })
    pc.addEventListener('track', ({ track }) => media.addTrack(track))
    this.#coming = media
  }

  protected override connected(): void {
    this.#media = this.#coming
    if (this.#media !== null) this.#options.onMedia?.(this.#media)
  }

  /** Without any media so far, a connection that does not come up will not come up the next time either. */
  protected override triesAgain(reason: SluiceError, lostAtMs: number | null): boolean {
    return reason.isTemporary || (reason.code === 'not_connected' && lostAtMs !== null)
  }
}
