import { mkdir, rm, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { SegmentCache } from '../../src/edge/http/v2/segmentCache.ts'
import { SegmentTimes } from '../../src/edge/http/v2/segmentTimes.ts'
import type { Answer } from '../support/app.ts'
import { servedBy } from '../support/served.ts'
import { type LiveClient, runLive } from '../support/v2.ts'

let live: LiveClient
let folder: string
let root: string
let distributionId: string
let countedId: string
let viewedId: string
beforeAll(async () => {
  live = await runLive()
  const made = await live.made('POST', '/channels', {
    name: 'stage',
    ingests: [{ name: 'i', type: 'rtmp-push', engines: [{ name: 'e' }] }],
    distributions: [{ name: 'web' }, { name: 'counted' }, { name: 'viewed' }],
  })
  const engineId = made.engines[0].id
  distributionId = made.distributions[0].id
  countedId = made.distributions[1].id
  viewedId = made.distributions[2].id
  folder = join(live.running.dataDir, 'live', engineId, '0')
  root = `/v2/distributions/${distributionId}/hls/${engineId}/0`
  await mkdir(folder, { recursive: true })
})
afterAll(() => live.close())

const play = (file: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> =>
  live.running.call(method, `${root}/${file}`, undefined, { authorization: '', ...headers })

/** The lane leaves a request with a query that it does not know to the framework; to that it changes nothing. */
const ROUTE = '?via=route'

const alike = ({ status, headers, text }: Answer) => {
  const { date: _, 'x-request-id': id, ...others } = Object.fromEntries(headers)
  return { status, headers: others, text, hasId: /^\S{8,}-\w+$/.test(id ?? '') }
}

it.each<[string, Record<string, string>, string]>([
  ['the whole', {}, 'GET'],
  ['the head', {}, 'HEAD'],
  ['a range', { range: 'bytes=10-19' }, 'GET'],
  ['a range that is not there', { range: 'bytes=9999-' }, 'GET'],
])('the lane and the framework answer alike: %s', async (_name, headers, method) => {
  await writeFile(join(folder, '1.m4s'), 'm'.repeat(1000))
  const long = await play(`1.m4s${ROUTE}`, headers, method)
  const short = await play('1.m4s', headers, method)
  expect(alike(short)).toEqual(alike(long))
})

it('what the lane sends is what the file holds now, and nothing once it is gone', async () => {
  await writeFile(join(folder, '2.m4s'), 'before')
  expect((await play('2.m4s')).text).toBe('before')
  expect((await play('2.m4s')).text).toBe('before')
  await writeFile(join(folder, '2.m4s'), 'another run')
  await expect.poll(async () => (await play('2.m4s')).text, { timeout: 5000 }).toBe('another run')
  await rm(join(folder, '2.m4s'))
  await expect.poll(async () => (await play('2.m4s')).status, { timeout: 5000 }).toBe(404)
})

it('a change of the rules counts at once in the lane too', async () => {
  await writeFile(join(folder, '3.m4s'), 'media')
  for (let times = 0; times < 3; times++) expect((await play('3.m4s')).status).toBe(200)
  const ipBlocking = { enabled: true, mode: 'deny', cidrs: ['127.0.0.0/8'] }
  await live.made('PATCH', `/distributions/${distributionId}`, { security: { ipBlocking } })
  for (let times = 0; times < 3; times++) expect((await play('3.m4s')).status).toBe(403)
  await live.made('PATCH', `/distributions/${distributionId}`, { security: { ipBlocking: { enabled: false } } })
  expect((await play('3.m4s')).status).toBe(200)
})

it('counts what the lane sends to the last byte', async () => {
  const { store } = live.running.app.ctx
  const counted = async () => (await servedBy(store, countedId)).reduce((sum, row) => sum + row.bytesOut, 0)
  await writeFile(join(folder, '4.m4s'), Buffer.alloc(300_000))
  const path = `${root.replace(distributionId, countedId)}/4.m4s`
  const get = () => live.running.call('GET', path, undefined, { authorization: '' })
  await get()
  await Promise.all(Array.from({ length: 19 }, get))
  await expect.poll(counted, { timeout: 30_000 }).toBe(20 * 300_000)
})

it('counts how long segments play that a player took whole, by the lane and by the route', async () => {
  const at = root.replace(distributionId, viewedId)
  const get = async (file: string, headers = {}, method = 'GET') =>
    (await live.running.call(method, `${at}/${file}`, undefined, { authorization: '', ...headers })).text.length
  const playlist = '#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2.000000,\n0_5.m4s\n#EXTINF:1.96,\n0_6.m4s\n'
  await writeFile(join(folder, 'index.m3u8'), playlist)
  await writeFile(join(folder, '0_5.m4s'), Buffer.alloc(1000))
  await writeFile(join(folder, '0_6.m4s'), Buffer.alloc(8 * 1024 * 1024))
  let bytes = await get('index.m3u8')
  for (const file of ['0_5.m4s', '0_5.m4s', `0_5.m4s${ROUTE}`, '0_6.m4s', '0_6.m4s']) bytes += await get(file)
  for (const query of ['', ROUTE]) await breakOff(`${at}/0_6.m4s${query}`)
  await get('0_5.m4s', {}, 'HEAD')
  bytes += await get('0_5.m4s', { range: 'bytes=0-499' })
  bytes += await get('0_5.m4s', { range: 'bytes=500-' })
  const counted = async () => (await servedBy(live.running.app.ctx.store, viewedId))[0]
  const more = async () => ((await counted())?.bytesOut ?? 0) - bytes
  await expect.poll(more, { timeout: 15_000 }).toBeGreaterThan(2 * 65_536)
  expect((await counted())?.viewedMs).toBe(3 * 2000 + 2 * 1960)
})

/** Asks for something large, and leaves with the first of it. */
async function breakOff(path: string): Promise<void> {
  const { hostname, port } = new URL(live.running.base)
  const socket = connect(Number(port), hostname)
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`)
  await once(socket, 'readable')
  socket.destroy()
}

it('what is known of how long segments play is bounded, and the oldest is forgotten first', () => {
  const times = new SegmentTimes()
  const playlist = (from: number) =>
    Array.from({ length: 10 }, (_, at) => `#EXTINF:2.0,\n0_${from + at}.m4s\n`).join('')
  for (let from = 0; from < 30_000; from += 5) times.learn('/engine/0', playlist(from))
  expect(times.size).toBe(20_000)
  expect([times.of('/engine/0/0_0.m4s'), times.of('/engine/0/0_29990.m4s')]).toEqual([0, 2000])
  times.learn('/engine/0', playlist(0))
  expect(times.of('/engine/0/0_0.m4s')).toBe(2000)
})

it('the segments that are kept are bounded, and none is kept for long after the last who asked', async () => {
  let nowMs = 0
  const cache = new SegmentCache({ ...systemClock, monotonic: () => nowMs })
  for (let i = 0; i < 20; i++) {
    const path = join(folder, `9${i}.m4s`)
    await writeFile(path, Buffer.alloc(4 * 1024 * 1024))
    expect((await cache.read(path))?.length).toBe(4 * 1024 * 1024)
    await rm(path)
  }
  expect(cache.size).toBe(64 * 1024 * 1024)
  expect(cache.peek(join(folder, '90.m4s'))).toBeUndefined()
  expect(cache.peek(join(folder, '919.m4s'))).toBeDefined()
  nowMs += 10_001
  cache.sweep()
  expect(cache.size).toBe(0)
})
