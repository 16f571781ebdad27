import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import type { ViewerLayers } from '../../src/media/engine.ts'

/** Sums over a connection so far. */
export interface Figures {
  frames: number
  keyFrames: number
  audioBytes: number
  /** Received audio energy (viewers). */
  audioEnergy: number
  bytes: number
  width: number
  codecs: string[]
}

/** Sums of a connection's video so far, named as in WebRTC's statistics; 0 if the direction has none. */
export interface Quality {
  freezeCount: number
  /** Seconds. */
  totalFreezesDuration: number
  packetsLost: number
  nackCount: number
  pliCount: number
  retransmittedPacketsReceived: number
  retransmittedPacketsSent: number
}

export interface PeerRequest {
  /** The URL of the endpoint. */
  url: string
  token?: string
  codec?: string
  sourceId?: string
  /** Scale of the sent video: 1 is 1280 by 720. */
  scale?: number
  /** Broadcasts the browser's simulated camera and microphone instead of the test video. */
  camera?: boolean
  /** Broadcasts this kind of media only. */
  only?: 'audio' | 'video'
  /** As `sendEncodings` takes them. */
  encodings?: readonly object[]
}

/** What a peer needs of a page, whichever driver runs the browser. */
export interface Tab {
  goto(url: string): Promise<unknown>
  /** Resolves when the expression is true in the page. */
  waitForFunction(expression: string): Promise<unknown>
  evaluate<T>(expression: string): Promise<T>
}

/** A page that publishes or views, with the client code of the page at `/demo`. */
export class Peer<T extends Tab = Page> {
  readonly page: T
  readonly #left: T[]
  #hasLeft = false

  private constructor(page: T, left: T[]) {
    this.page = page
    this.#left = left
  }

  /** `left`: pages to reuse, because a new one takes three times the work. */
  static async open<T extends Tab>(
    browser: { newPage(): Promise<T> },
    origin: string,
    left: T[] = [],
  ): Promise<Peer<T>> {
    const page = left.pop() ?? (await browser.newPage())
    await page.goto(origin)
    await page.waitForFunction('globalThis.peer !== undefined')
    return new Peer(page, left)
  }

  /** `ok`, or the status and the text of the refusal. */
  publish(request: PeerRequest): Promise<string> {
    return this.#call(`peer.publish(${JSON.stringify({ label: 'test', ...request })})`)
  }

  watch(request: PeerRequest): Promise<string> {
    return this.#call(`peer.watch(${JSON.stringify(request)})`)
  }

  /** Watches as soon as the stream is on the air. */
  async watchSoon(request: PeerRequest): Promise<void> {
    await expect.poll(() => this.watch(request)).toBe('ok')
  }

  /** Publishes or watches with the page's client of this name. */
  foreign(client: string, request: PeerRequest): Promise<string> {
    return this.#call(`peer.foreign(${client}, ${JSON.stringify({ label: 'test', ...request })})`)
  }

  /** HLS, in the player of the page. */
  hls(request: PeerRequest): Promise<string> {
    return this.#call(`peer.hls(${JSON.stringify(request)})`)
  }

  /** Times are in seconds of the player. */
  played(): Promise<{ frames: number; audioBytes: number; currentTime: number; bufferedTo: number; width: number }> {
    return this.#call('peer.played()')
  }

  figures(): Promise<Figures> {
    return this.#call('peer.figures()')
  }

  quality(): Promise<Quality> {
    return this.#call('peer.quality()')
  }

  /** Sends the media of later connections to this UDP port of this machine instead of the server's. */
  async through(port: number): Promise<void> {
    await this.#call(`peer.through(${port})`)
  }

  /** Later connections do not offer to receive the video codec of this name. */
  async lack(codec: string): Promise<void> {
    await this.#call(`peer.lack('${codec}')`)
  }

  /** Makes later connections use TURN servers only. */
  async relayedOnly(): Promise<void> {
    await this.#call('peer.relayedOnly()')
  }

  /** RIDs of the layers that the server reports on. */
  arriving(): Promise<string[]> {
    return this.#call('peer.arriving()')
  }

  /** The layers of the stream that it watches, after the choice of one; null: the bandwidth decides. */
  layers(choice?: string | null): Promise<ViewerLayers> {
    return this.#call(`peer.layers(${JSON.stringify(choice)})`)
  }

  /** An ICE restart; `etag` and our new `ufrag` if the server accepted it. The next call repeats a refused one. */
  restart(ifMatch: string): Promise<{ status: number; etag?: string; ufrag?: string }> {
    return this.#call(`peer.restart(${JSON.stringify(ifMatch)})`)
  }

  /** The server's ICE username fragment in use. */
  remoteUfrag(): Promise<string> {
    return this.#call('peer.remoteUfrag()')
  }

  /** `connectionState`. */
  state(): Promise<string> {
    return this.#call('peer.state()')
  }

  /** Resolves when the page sees that its connection is over, with its `connectionState`. */
  over(): Promise<string> {
    return this.#call('peer.over()')
  }

  /** Ends the session. */
  stop(): Promise<void> {
    return this.#call('peer.stop()')
  }

  /** Leaves the page without ending its session. Call it once: another peer may use the page then. */
  async close(): Promise<void> {
    if (this.#hasLeft) return
    this.#hasLeft = true
    await this.page.goto('about:blank')
    this.#left.push(this.page)
  }

  /** Resolves when video and audio both play from now on. */
  async plays(): Promise<Figures> {
    const before = await this.figures()
    await expect
      .poll(() => this.figures())
      .toSatisfy(
        ({ frames, audioBytes, audioEnergy }: Figures) =>
          frames >= before.frames + 10 && audioBytes > before.audioBytes && audioEnergy > before.audioEnergy,
        'moving video and audio',
      )
    return this.figures()
  }

  /** Resolves when no more media arrives: two readings of the sum are equal. */
  async stands(): Promise<void> {
    let last = -1
    await expect
      .poll(
        async () => {
          const { bytes } = await this.figures()
          const stands = bytes === last
          last = bytes
          return stands
        },
        { timeout: 60_000, interval: 400 },
      )
      .toBe(true)
  }

  #call<R>(expression: string): Promise<R> {
    return this.page.evaluate<R>(expression)
  }
}
