import { expect } from 'vitest'
import type { Logger } from '../../src/base/log.ts'
import type { PartialConfig } from '../../src/config/schema.ts'
import { runApp, type RunningApp } from './app.ts'
import { FastClock } from './fastClock.ts'
import { ownPort } from './ownPort.ts'
import { newPlace, type Place } from './place.ts'
import { LOOPBACK, TestPublisher, TestViewer } from './rtcPeer.ts'
import { SEALING_KEY } from './sealingKey.ts'
import { makeToken } from './testNode.ts'
import { until } from './until.ts'

/** Nodes of one installation on PostgreSQL, with clients over WHIP and WHEP. */
export class WebRtcNodes {
  /** What the nodes have warned of. */
  readonly warned: string[] = []
  /** What `close` closes, the latest first. */
  readonly open: { close(): Promise<void> }[] = []
  /** Of all nodes. A test slows it down while another process has to come in time. */
  readonly clock = new FastClock(2)
  readonly #running: RunningApp[] = []
  #place: Place | null = null

  async start(over: PartialConfig = {}): Promise<RunningApp> {
    this.#place ??= await newPlace('PostgreSQL')
    const port = await ownPort()
    const app = await runApp({
      log: this.#log,
      clock: this.clock,
      flags: {
        storage: { url: this.#place.url },
        secrets: { sealingKey: SEALING_KEY },
        webrtc: { host: '127.0.0.1', port: 0, processes: 2 },
        ...over,
        server: { port, nodeUrl: `http://127.0.0.1:${port}`, ...over.server },
      },
    })
    this.open.push(app)
    this.#running.push(app)
    return app
  }

  /** Of the database, once a node has started. */
  get databaseUrl(): string {
    return this.#place?.url ?? ''
  }

  /** A secured stream on the air at a node, known to all. */
  async publish(at: RunningApp, streamName: string, presented?: string): Promise<TestPublisher> {
    const streams = [{ streamName }]
    const token = presented ?? (await makeToken(at, 'publish', { streams, subscribeRequiresAuth: true })).token
    const publisher = new TestPublisher('vp8', LOOPBACK)
    this.open.push(publisher)
    const answer = await offerTo(`${at.base}/api/whip/${streamName}`, token, await publisher.offer())
    expect(answer.status).toBe(201)
    await publisher.accept(await answer.text())
    publisher.play()
    await until(() => this.#running.every(({ app, accountId }) => app.ctx.streamsOnAir(accountId, streamName)))
    return publisher
  }

  async view(at: RunningApp, streamName: string, token: string, codec: 'vp8' | 'h264' = 'vp8') {
    const viewer = new TestViewer(codec, LOOPBACK)
    this.open.push(viewer)
    const answer = await offerTo(`${at.base}/api/whep/${at.accountId}/${streamName}`, token, await viewer.offer())
    const text = await answer.text()
    if (answer.status === 201) await viewer.accept(text)
    return { viewer, status: answer.status, text, location: answer.headers.get('location') ?? '' }
  }

  /**
   * The same of a viewer who is admitted. It asks again while it is redirected, because a link between busy processes may not come at
   * once. Hardly any time passes for the nodes meanwhile.
   */
  watch(...request: Parameters<WebRtcNodes['view']>): ReturnType<WebRtcNodes['view']> {
    return this.admitted(() => this.view(...request))
  }

  /** The answer to an offer that is admitted, if need be by a link; see `watch`. */
  admitted<T extends { readonly status: number }>(ask: () => Promise<T>): Promise<T> {
    return until(async () => {
      const answer = await this.clock.slowly(0, ask)
      expect([201, 307]).toContain(answer.status)
      return answer.status === 201 && answer
    })
  }

  /** Ends one node for good. */
  async stop(node: RunningApp): Promise<void> {
    this.open.splice(this.open.indexOf(node), 1)
    this.#running.splice(this.#running.indexOf(node), 1)
    await node.close()
  }

  async close(): Promise<void> {
    for (const one of this.open.reverse()) await one.close()
    await this.#place?.remove()
    this.clock.close()
  }

  get #log(): Logger {
    const warn = (_: unknown, message: string): void => void this.warned.push(message)
    const log: Logger = { debug: () => undefined, info: () => undefined, warn, error: warn, child: () => log }
    return log
  }
}

/** Posts an offer and follows no redirect. An empty token is none. */
export const offerTo = (url: string, token: string, body: string): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'content-type': 'application/sdp', ...(token === '' ? {} : { authorization: `Bearer ${token}` }) },
    body,
  })

/** The sessions of viewers at a node. */
export const viewersOf = ({ app }: RunningApp) =>
  app.ctx.sessions.all().filter(({ session }) => session.action === 'view')
