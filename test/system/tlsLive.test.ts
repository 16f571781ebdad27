import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, request } from 'node:https'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { PemPair } from '../../src/tls/certificate.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { endChildren, pushTo } from '../support/channels.ts'
import { leafOf, serialAt, trustedAuthority, writePair } from '../support/certificates.ts'
import { ownPort } from '../support/ownPort.ts'
import { makeToken } from '../support/testNode.ts'
import { pace, until } from '../support/until.ts'
import { TestViewer } from '../support/rtcPeer.ts'

const VIEWERS = 5
const dir = mkdtempSync(join(tmpdir(), 'sluice-tls-live-'))
let authority: PemPair
let sluice: RunningApp
let publisher: ChildProcess

beforeAll(async () => {
  authority = await trustedAuthority()
  const webrtc = { host: '127.0.0.1', port: 0, processes: 1 }
  const tls = writePair(dir, await leafOf(authority))
  sluice = await runApp({ flags: { webrtc, tls, rtmp: { tlsPort: await ownPort() } } })
})
afterAll(async () => {
  endChildren()
  await sluice.close()
  rmSync(dir, { recursive: true })
})

/** An HLS viewer on one connection: fetches what the playlist names, and notes how often it had to connect. */
class HlsViewer {
  readonly agent = new Agent({ keepAlive: true, maxSockets: 1 })
  connections = 0
  segments = 0
  failures = 0
  #isOver = false

  async watch(master: string): Promise<void> {
    while (!this.#isOver) {
      try {
        const [, path = ''] = /\n([^#\s]\S*)\s*$/.exec(await this.#get(master)) ?? []
        const media = new URL(path, master).href
        const list = await this.#get(media)
        const [, segment = ''] = /\n([^#\s]\S*)\s*$/.exec(list) ?? []
        await this.#get(new URL(segment, media).href)
        this.segments += 1
      } catch {
        this.failures += 1
      }
      await pace(200)
    }
  }

  stop(): void {
    this.#isOver = true
    this.agent.destroy()
  }

  #get(url: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const asking = request(url, { agent: this.agent }, (answer) => {
        let text = ''
        answer.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
        answer.on('end', () => (answer.statusCode === 200 ? resolve(text) : reject(new Error(text))))
        answer.on('error', reject)
      })
      asking.on('socket', (socket) => {
        if (socket.connecting) this.connections += 1
      })
      asking.on('error', reject)
      asking.end()
    })
  }
}

test('a replaced certificate drops no HLS viewer, no WHEP viewer and no RTMPS publisher', async () => {
  const { token } = await makeToken(sluice, 'publish', { streams: [{ streamName: 'show' }] })
  const url = `rtmps://127.0.0.1:${sluice.rtmpsPort}/v2/pub/show?token=${token}`
  publisher = pushTo(url)
  const live = sluice.app.ctx.sessions
  await until(() => live.feeds.all().length === 1)
  const [feed] = live.feeds.all()
  const master = `${sluice.base}/hls/${sluice.accountId}/show/index.m3u8`
  const viewers = Array.from({ length: VIEWERS }, () => new HlsViewer())
  const watching = viewers.map((viewer) => viewer.watch(master))
  const whep = new TestViewer('h264')
  const offered = { method: 'POST', headers: { 'content-type': 'application/sdp' }, body: await whep.offer() }
  const answer = await fetch(`${sluice.base}/api/whep/${sluice.accountId}/show`, offered)
  expect(answer.status).toBe(201)
  await whep.accept(await answer.text())
  await until(() => whep.packets.length > 0)
  await until(() => viewers.every(({ segments }) => segments > 0))
  const counts = viewers.map(({ connections, failures }) => ({ connections, failures }))

  const before = await serialAt(sluice.rtmpsPort ?? 0)
  writePair(dir, await leafOf(authority))
  await until(async () => (await serialAt(sluice.rtmpsPort ?? 0)) !== before)
  const packets = whep.packets.length
  const seen = viewers.map(({ segments }) => segments)
  await until(() => viewers.every(({ segments }, at) => segments > (seen[at] ?? 0) + 1))

  expect(viewers.map(({ connections, failures }) => ({ connections, failures }))).toEqual(counts)
  expect(live.feeds.all()).toEqual([feed])
  expect(publisher.exitCode).toBeNull()
  await until(() => whep.packets.length > packets)
  await whep.close()
  for (const viewer of viewers) viewer.stop()
  await Promise.all(watching)
})
