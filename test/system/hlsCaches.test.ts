import { once } from 'node:events'
import { get as request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encoded } from '../media/ffmpeg/frames.ts'
import { readPlaylist } from '../media/hls/readPlaylist.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { broadcast } from '../support/broadcast.ts'
import { type Cache, Caches, isInstalled } from '../support/caches.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'

// The configurations in `packaging/`, in the real programs. Viewers have addresses of their own on loopback.

let sluice: RunningApp
let caches: Caches

beforeAll(async () => {
  const hls = { reportingCaches: ['127.0.0.1'] }
  sluice = await runApp({ flags: { hls, server: { trustedProxies: ['127.0.0.1'] } } })
  const recorded = await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25, size: '320x180' })
  caches = new Caches(sluice.base)
  await broadcast(sluice, recorded, { speed: 1, token: { subscribeRequiresAuth: true } })
})
afterAll(async () => {
  await caches.stop()
  await sluice.close()
})

interface Got {
  readonly status: number
  readonly bytes: Buffer
  readonly text: string
  /** With the head. */
  readonly received: number
}

/** @param address of the viewer, on loopback */
async function getFrom(address: string, port: number, path: string): Promise<Got> {
  const asked = request({ host: '127.0.0.1', port, path, localAddress: address, agent: false })
  const [response] = await once(asked, 'response')
  const bytes = await buffer(response)
  return { status: response.statusCode, bytes, text: bytes.toString(), received: asked.socket?.bytesRead ?? 0 }
}

/** Requests for playlists and pieces that Sluice has answered. */
async function answered(): Promise<number> {
  const { text } = await sluice.call('GET', '/metrics')
  const counts = text.matchAll(
    /^sluice_http_requests_total\{.*route="\/hls\/~:ticket\/:stream\/:rendition.*\} (\d+)$/gm,
  )
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
}

const DAY_MS = 86_400_000
const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** The bytes of a tracking id. */
async function usageOf(trackingId: string): Promise<{ bytesOut: number; bytesFromCaches: number } | undefined> {
  const query = new URLSearchParams({
    startDate: day(Date.now() - DAY_MS),
    stopDate: day(Date.now() + DAY_MS),
    trackingIds: trackingId,
  })
  const { json, text } = await sluice.call('GET', `/api/analytics/tracking/total?${query.toString()}`)
  expect(json?.data, text).toBeDefined()
  return json.data[trackingId][0]
}

describe.each([
  ['nginx', 'nginx'],
  ['Varnish', 'varnishd'],
] as const)('%s in front', (_name, program) => {
  const isMissing = !isInstalled(program)
  let port: number
  let cache: Cache

  beforeAll(async () => {
    if (isMissing) return
    cache = await caches.start(program)
    port = cache.port
    await until(() =>
      getFrom('127.0.0.9', port, '/healthz').then(
        ({ status }) => status < 500,
        () => false,
      ),
    )
  })

  const beside = (path: string, name: string): string => path.replace(/media\.m3u8.*/, name)

  /** A viewer at an address of its own, who has a playlist. */
  async function watch(token: string, address: string) {
    const master = `/hls/${sluice.accountId}/show/index.m3u8?auth=${token}`
    const { text, received: ofMaster } = await getFrom(address, port, master)
    const [uri = ''] = /^[^#\s]+$/m.exec(text) ?? []
    const playlist = new URL(uri, `http://x${master}`).pathname
    return { address, playlist, ofMaster, ...(await getFrom(address, port, playlist)) }
  }

  test.skipIf(isMissing)(
    'twenty players with tickets of their own cost one request for each playlist and piece',
    async () => {
      const { token } = await makeToken(sluice, 'subscribe')
      const crowd = await Promise.all(Array.from({ length: 20 }, (_, n) => watch(token, `127.0.1.${n + 1}`)))
      expect(new Set(crowd.map(({ status }) => status))).toEqual(new Set([200]))
      const { segments, mediaSequence } = readPlaylist(crowd.at(-1)!.text)
      const before = await answered()
      const next = `media.m3u8?_HLS_msn=${mediaSequence + segments.length + 1}`
      const newest = /^s\d+\.m4s$/gm.exec(crowd.at(-1)!.text)?.[0] ?? ''
      for (const name of [next, newest]) {
        const all = await Promise.all(
          crowd.map(({ address, playlist }) => getFrom(address, port, beside(playlist, name))),
        )
        expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]))
        expect(all.every(({ bytes }) => bytes.equals(all[0]!.bytes))).toBe(true)
      }
      expect((await answered()) - before).toBe(2)
    },
  )

  test.skipIf(isMissing)(
    'what it has opens with no forged ticket, and to no address that the token refuses',
    async () => {
      const { token } = await makeToken(sluice, 'subscribe', { allowedIpAddresses: ['127.0.2.1'] })
      const { playlist, text, address } = await watch(token, '127.0.2.1')
      const path = beside(playlist, /^s\d+\.m4s$/m.exec(text)?.[0] ?? '')
      expect((await getFrom(address, port, path)).status).toBe(200)
      expect((await getFrom('127.0.2.2', port, path)).status).toBe(401)
      const forged = path.replace(/(?<=~.{10})./, (one) => (one === 'z' ? 'y' : 'z'))
      expect((await getFrom(address, port, forged)).status).toBe(401)
      expect((await getFrom(address, port, path)).status).toBe(200)
    },
  )

  test.skipIf(isMissing)(
    'a viewer whose token is deleted, and a third address with one ticket, get nothing more',
    async () => {
      const [one, other] = [await makeToken(sluice, 'subscribe'), await makeToken(sluice, 'subscribe')]
      const [gone, shared] = [await watch(one.token, '127.0.3.1'), await watch(other.token, '127.0.3.2')]
      await sluice.call('DELETE', `/api/subscribe_token/${one.id}`)
      const init = (viewer: typeof gone): string => beside(viewer.playlist, /init-[^"]+/.exec(viewer.text)?.[0] ?? '')
      await until(async () => (await getFrom(gone.address, port, init(gone))).status === 401)
      const statuses = async () => {
        const all = ['127.0.3.2', '127.0.3.3', '127.0.3.4'].map((address) => getFrom(address, port, init(shared)))
        return (await Promise.all(all)).map(({ status }) => status)
      }
      await until(async () => (await statuses()).every((status) => status === 403))
    },
  )

  /** Reports its log, from now on: what a memory log had before is not read. */
  async function reporting(trackingId: string): Promise<void> {
    cache.report()
    const { token } = await makeToken(sluice, 'subscribe', { tracking: { trackingId } })
    const { address, playlist } = await watch(token, '127.0.5.1')
    await until(async () => {
      await getFrom(address, port, playlist)
      return ((await usageOf(trackingId))?.bytesFromCaches ?? 0) > 0
    })
  }

  test.skipIf(isMissing)('bytes of its log, and of nothing else, count for the viewers who received them', async () => {
    const trackingId = `behind ${program}`
    await reporting(`first behind ${program}`)
    const { token } = await makeToken(sluice, 'subscribe', { tracking: { trackingId } })
    const crowd = await Promise.all(Array.from({ length: 10 }, (_, n) => watch(token, `127.0.4.${n + 1}`)))
    const ofMasters = crowd.reduce((sum, { ofMaster }) => sum + ofMaster, 0)
    let received = crowd.reduce((sum, viewer) => sum + viewer.received, 0)
    const { segments, mediaSequence } = readPlaylist(crowd.at(-1)!.text)
    const pieces = crowd.at(-1)!.text.match(/^s\d+\.m4s$|init-[\w-]+\.mp4/gm) ?? []
    const next = `media.m3u8?_HLS_msn=${mediaSequence + segments.length}&_HLS_part=1`
    for (const name of [...new Set(pieces), next]) {
      const all = await Promise.all(crowd.map((one) => getFrom(one.address, port, beside(one.playlist, name))))
      expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]))
      received += all.reduce((sum, one) => sum + one.received, 0)
    }
    const counted = async () => (await usageOf(trackingId)) ?? { bytesOut: 0, bytesFromCaches: 0 }
    await until(async () => (await counted()).bytesFromCaches >= received * 0.98)
    const { bytesOut, bytesFromCaches } = await counted()
    expect(Math.abs(bytesFromCaches / received - 1)).toBeLessThan(0.02)
    expect(Math.abs(bytesOut / (received + ofMasters) - 1)).toBeLessThan(0.02)
    const { json } = await sluice.call('GET', '/api/sessions?streamName=show&action=view&limit=100')
    const own = json.data.filter((one: { trackingId?: string }) => one.trackingId === trackingId)
    expect(own).toHaveLength(crowd.length)
    expect(own.reduce((sum: number, one: { bytesFromCaches: number }) => sum + one.bytesFromCaches, 0)).toBe(
      bytesFromCaches,
    )
  })
})
