import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/** Sums over a connection so far. */
export interface Figures {
  frames: number
  keyFrames: number
  audioBytes: number
  /** Loudness heard (viewers). */
  audioEnergy: number
  bytes: number
  width: number
  codecs: string[]
}

/** Sums of the video of a connection so far, as WebRTC's statistics name them; 0 where the direction has none. */
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

export interface Wish {
  /** Of the endpoint, with the host. */
  url: string
  token?: string
  codec?: string
  sourceId?: string
  /** Of the picture that is broadcast: 1 is 1280 by 720. */
  scale?: number
  /** Broadcasts the camera and the microphone, as the browser makes them up, instead of the test picture. */
  camera?: boolean
  /** Broadcasts this medium alone. */
  only?: 'audio' | 'video'
  /** As `sendEncodings` takes them. */
  encodings?: readonly object[]
}

/** What a peer needs of a browser's page, whoever drives the browser. */
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

  /** `left`: pages that others have left. To make a new one takes three times the work. */
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
  publish(wish: Wish): Promise<string> {
    return this.#call(`peer.publish(${JSON.stringify({ label: 'test', ...wish })})`)
  }

  watch(wish: Wish): Promise<string> {
    return this.#call(`peer.watch(${JSON.stringify(wish)})`)
  }

  /** Watches as soon as the stream is on the air. */
  async watchSoon(wish: Wish): Promise<void> {
    await expect.poll(() => this.watch(wish), { timeout: 30_000, interval: 100 }).toBe('ok')
  }

  /** Publishes or watches with a client that the page holds under this name. */
  foreign(client: string, wish: Wish): Promise<string> {
    return this.#call(`peer.foreign(${client}, ${JSON.stringify({ label: 'test', ...wish })})`)
  }

  /** HLS, in the player of the page. */
  hls(wish: Wish): Promise<string> {
    return this.#call(`peer.hls(${JSON.stringify(wish)})`)
  }

  /** Times are seconds of the player. */
  played(): Promise<{ frames: number; audioBytes: number; currentTime: number; bufferedTo: number; width: number }> {
    return this.#call('peer.played()')
  }

  figures(): Promise<Figures> {
    return this.#call('peer.figures()')
  }

  quality(): Promise<Quality> {
    return this.#call('peer.quality()')
  }

  /** Media goes to this UDP port of this machine instead of the server's, in connections made from now on. */
  async through(port: number): Promise<void> {
    await this.#call(`peer.through(${port})`)
  }

  /** Connections made from now on go through TURN servers, and no other way. */
  async relayedOnly(): Promise<void> {
    await this.#call('peer.relayedOnly()')
  }

  /** RIDs of the layers that the server reports on. */
  arriving(): Promise<string[]> {
    return this.#call('peer.arriving()')
  }

  /** An ICE restart; `etag` and our new `ufrag` when it was granted. A refused one is tried again by the next call. */
  restart(ifMatch: string): Promise<{ status: number; etag?: string; ufrag?: string }> {
    return this.#call(`peer.restart(${JSON.stringify(ifMatch)})`)
  }

  /** The server's ICE user name that media goes to. */
  remoteUfrag(): Promise<string> {
    return this.#call('peer.remoteUfrag()')
  }

  /** `connectionState`. */
  state(): Promise<string> {
    return this.#call('peer.state()')
  }

  /** Says goodbye, and what was carried until then. */
  carried(): Promise<{ bytesSent: number; bytesReceived: number }> {
    return this.#call('peer.carried()')
  }

  /** Resolves when the page knows that its connection is over, with what `connectionState` says then. */
  over(): Promise<string> {
    return this.#call('peer.over()')
  }

  /** Says goodbye. */
  stop(): Promise<void> {
    return this.#call('peer.stop()')
  }

  /** Leaves the page, and with it all connections, without a word. Once: the page may be another peer's then. */
  async close(): Promise<void> {
    if (this.#hasLeft) return
    this.#hasLeft = true
    await this.page.goto('about:blank')
    this.#left.push(this.page)
  }

  /** Resolves when the picture moves and the sound sounds, both from now on. */
  async plays(): Promise<Figures> {
    const before = await this.figures()
    await expect
      .poll(() => this.figures(), { timeout: 30_000, interval: 100 })
      .toSatisfy(
        ({ frames, audioBytes, audioEnergy }: Figures) =>
          frames >= before.frames + 10 && audioBytes > before.audioBytes && audioEnergy > before.audioEnergy,
        'moving pictures and sound',
      )
    return this.figures()
  }

  /** Resolves when no more media arrives: the sum stands still from one look to the next. */
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
        { timeout: 30_000, interval: 400 },
      )
      .toBe(true)
  }

  #call<R>(expression: string): Promise<R> {
    return this.page.evaluate<R>(expression)
  }
}
