import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { encoded, type Recorded } from '../media/ffmpeg/frames.ts'
import { RtmpClient } from '../media/rtmp/client.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { type Broadcast, broadcast } from '../support/broadcast.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'

const MAX = 20
const OFFER = 'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n'

let sluice: RunningApp
let recorded: Recorded
let onAir: Broadcast
let publish: string
const engine = new ScriptedEngine()

beforeAll(async () => {
  recorded = await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25, size: '160x120' })
  const sessions = { max: MAX, maxViewersPerAddress: 4, maxPublishersPerAddress: 2 }
  sluice = await runApp({ engine, flags: { sessions, server: { trustedProxies: ['127.0.0.1'] } } })
  onAir = await broadcast(sluice, recorded)
  publish = (await makeToken(sluice, 'publish')).token
})
afterAll(async () => {
  await onAir.end()
  await sluice.close()
})
afterEach(async () => {
  for (const { session } of viewers()) await sluice.call('DELETE', `/api/sessions/${session.id}`)
  await until(() => viewers().length === 0)
})

const viewers = () => sluice.app.ctx.sessions.all().filter(({ session }) => session.action === 'view')

const from = (address: string): Record<string, string> => ({ authorization: '', 'x-forwarded-for': address })
const master = (address: string) =>
  sluice.call('GET', `/hls/${sluice.accountId}/show/index.m3u8`, undefined, from(address))
const offer = (path: string, headers: Record<string, string>) =>
  sluice.call('POST', path, OFFER, { 'content-type': 'application/sdp', ...headers })
const watch = (address: string) => offer(`/api/whep/${sluice.accountId}/show`, from(address))
/** The media playlist, found as a player does. */
async function media(address: string) {
  const [path = ''] = /^[^#\s]+$/m.exec((await master(address)).text) ?? []
  return sluice.call('GET', `/hls/${sluice.accountId}/show/${path}`, undefined, from(address))
}
const goLive = () => offer('/api/whip/studio', { authorization: `Bearer ${publish}` })

/** About as many as one address sends at a moment over 100 connections, here each from another address. */
const flood = <T>(times: number, ask: (address: string) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: times }, (_, at) => ask(`198.51.100.${at}`)))

describe('a flood of requests', () => {
  test('for master playlists alone takes no slots', async () => {
    const answers = await flood(3 * MAX, master)
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(viewers()).toEqual([])
  })

  test('for media, over HLS and WHEP, leaves slots to publishers over WHIP and RTMP', async () => {
    const answers = await flood(3 * MAX, watch)
    expect(answers.filter(({ status }) => status === 201).length).toBeGreaterThan(0)
    const begun = await goLive()
    expect([begun.status, begun.text]).toEqual([201, 'v=0\r\n'])
    const publisher = await RtmpClient.open(sluice.rtmpPort ?? 0)
    await publisher.publish('v2/pub', `camera?token=${publish}`)
    publisher.socket.destroy()
  })
})

describe('a client at its limit of sessions', () => {
  test('gets 429 with Retry-After, over HLS and WHEP, and others are admitted', async () => {
    for (let times = 0; times < 4; times += 1) expect((await media('192.0.2.7')).status).toBe(200)
    for (const answer of [await master('192.0.2.7'), await watch('192.0.2.7')]) {
      expect([answer.status, answer.text]).toEqual([429, 'Too many sessions from this address: try again later'])
      expect(answer.headers.get('retry-after')).toBe('5')
      expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    }
    expect((await media('192.0.2.8')).status).toBe(200)
    expect((await watch('192.0.2.9')).status).toBe(201)
  })

  test('gets it from the media playlist too, if another viewer took the slot after the master playlist', async () => {
    const [, path = ''] = /^([^#\s]+)$/m.exec((await master('192.0.2.7')).text) ?? []
    const late = () => sluice.call('GET', `/hls/${sluice.accountId}/show/${path}`, undefined, from('192.0.2.7'))
    for (let times = 0; times < 4; times += 1) expect((await watch('192.0.2.7')).status).toBe(201)
    expect(await late()).toMatchObject({ status: 429, text: 'Too many sessions from this address: try again later' })
    const [first] = viewers()
    await sluice.call('DELETE', `/api/sessions/${first?.session.id}`)
    await until(() => viewers().length === 3)
    expect((await late()).status).toBe(200)
    expect((await late()).status).toBe(200)
    expect(viewers()).toHaveLength(4)
  })

  test('gets the reason over RTMP', async () => {
    const publishers = await Promise.all([0, 1, 2].map(() => RtmpClient.open(sluice.rtmpPort ?? 0, '127.0.0.2')))
    for (const [at, publisher] of publishers.entries())
      await publisher.publish('v2/pub', `camera-${at}?token=${publish}`).catch(() => undefined)
    expect(await publishers[2]?.status()).toMatchObject({
      code: 'NetStream.Publish.Denied',
      description: 'Too many sessions from this address: try again later',
    })
    for (const { socket } of publishers) socket.destroy()
    // A trusted proxy cannot forward the client's address over RTMP, so its own address does not count.
    const proxied = await Promise.all([0, 1, 2].map(() => RtmpClient.open(sluice.rtmpPort ?? 0)))
    for (const [at, publisher] of proxied.entries()) await publisher.publish('v2/pub', `studio-${at}?token=${publish}`)
    for (const { socket } of proxied) socket.destroy()
  })
})

test('concurrent requests of one player for the media playlist open one session', async () => {
  const [, path = ''] = /^([^#\s]+)$/m.exec((await master('192.0.2.7')).text) ?? []
  const ask = () => sluice.call('GET', `/hls/${sluice.accountId}/show/${path}`, undefined, from('192.0.2.7'))
  const answers = await Promise.all(Array.from({ length: 8 }, ask))
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200))
  expect(viewers().map(({ session }) => session.address)).toEqual(['192.0.2.7'])
})
