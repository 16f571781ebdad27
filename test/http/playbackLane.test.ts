import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { SegmentCache } from '../../src/edge/http/v2/segmentCache.ts'
import type { Answer } from '../support/app.ts'
import { servedBy } from '../support/served.ts'
import { type LiveClient, runLive } from '../support/v2.ts'

let live: LiveClient
let folder: string
let root: string
let distributionId: string
let countedId: string
beforeAll(async () => {
  live = await runLive()
  const made = await live.made('POST', '/channels', {
    name: 'stage',
    ingests: [{ name: 'i', type: 'rtmp-push', engines: [{ name: 'e' }] }],
    distributions: [{ name: 'web' }, { name: 'counted' }],
  })
  const engineId = made.engines[0].id
  distributionId = made.distributions[0].id
  countedId = made.distributions[1].id
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
