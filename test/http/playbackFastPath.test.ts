import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import type { Sendfile } from '../../src/base/sendfile.ts'
import { SegmentCache } from '../../src/edge/http/channels/segmentCache.ts'
import type { Answer } from '../support/app.ts'
import { until } from '../support/testNode.ts'
import { servedBy } from '../support/served.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'

/** Less than the cache holds, and more than the buffers of a connection whose client does not read. */
const LARGE = 8 * 1024 * 1024

const CHANNEL = {
  name: 'stage',
  ingests: [{ name: 'i', type: 'rtmp-push', engines: [{ name: 'e' }] }],
  distributions: [{ name: 'web' }, { name: 'counted' }, { name: 'broken' }],
}

describe.each([true, false])('with sendfile: %s', (sendfile) => {
  let live: ChannelsClient
  let folder: string
  let root: string
  let distributionId: string
  let countedId: string
  let brokenId: string
  beforeAll(async () => {
    live = await runChannels({ flags: { server: { sendfile } } })
    const made = await live.made('POST', '/channels', CHANNEL)
    const engineId = made.engines[0].id
    distributionId = made.distributions[0].id
    countedId = made.distributions[1].id
    brokenId = made.distributions[2].id
    folder = join(live.running.dataDir, 'channels', engineId, '0')
    root = `/v2/distributions/${distributionId}/hls/${engineId}/0`
    await mkdir(folder, { recursive: true })
  })
  afterAll(() => live.close())

  /** Large enough for sendfile, and different from any other. */
  const media = (name: string): string => name.repeat(50_000)

  const play = (file: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> =>
    live.running.call(method, `${root}/${file}`, undefined, { authorization: '', ...headers })

  /** The fast path leaves a request with an unknown query to the framework, which ignores the query. */
  const ROUTE = '?via=route'

  const counted = async (id: string): Promise<number> =>
    (await servedBy(live.running.app.ctx.store, id)).reduce((sum, row) => sum + row.bytesOut, 0)

  /** An answer with its head received and its body still unread. */
  const begun = async (file: string, at = root, { running } = live): Promise<IncomingMessage> => {
    const [answer] = (await once(get(`${running.base}${at}/${file}`, { agent: false }), 'response')) as [
      IncomingMessage,
    ]
    return answer
  }

  const alike = ({ status, headers, text }: Answer) => {
    const { date: _, 'x-request-id': id, ...others } = Object.fromEntries(headers)
    return { status, headers: others, text, hasId: /^\S{8,}-\w+$/.test(id ?? '') }
  }

  it.each<[string, Record<string, string>, string]>([
    ['the whole', {}, 'GET'],
    ['the head', {}, 'HEAD'],
    ['a range', { range: 'bytes=10-19' }, 'GET'],
    ['a range beyond the end', { range: 'bytes=9999-' }, 'GET'],
  ])('the fast path and the framework answer alike: %s', async (_name, headers, method) => {
    await writeFile(join(folder, '1.m4s'), media('m'))
    const long = await play(`1.m4s${ROUTE}`, headers, method)
    const short = await play('1.m4s', headers, method)
    expect(alike(short)).toEqual(alike(long))
  })

  it('the fast path sends the current file, and nothing once it is deleted', async () => {
    await writeFile(join(folder, '2.m4s'), media('before'))
    expect((await play('2.m4s')).text).toBe(media('before'))
    expect((await play('2.m4s')).text).toBe(media('before'))
    await writeFile(join(folder, '2.m4s'), media('another run'))
    await expect.poll(async () => (await play('2.m4s')).text, { timeout: 5000 }).toBe(media('another run'))
    await rm(join(folder, '2.m4s'))
    await expect.poll(async () => (await play('2.m4s')).status, { timeout: 5000 }).toBe(404)
  })

  it('the fast path applies changed rules at once', async () => {
    await writeFile(join(folder, '3.m4s'), 'media')
    for (let times = 0; times < 3; times++) expect((await play('3.m4s')).status).toBe(200)
    const ipBlocking = { enabled: true, mode: 'deny', cidrs: ['127.0.0.0/8'] }
    await live.made('PATCH', `/distributions/${distributionId}`, { security: { ipBlocking } })
    for (let times = 0; times < 3; times++) expect((await play('3.m4s')).status).toBe(403)
    await live.made('PATCH', `/distributions/${distributionId}`, { security: { ipBlocking: { enabled: false } } })
    expect((await play('3.m4s')).status).toBe(200)
  })

  it('counts every byte that it sends, and for an aborted answer no more than there was', async () => {
    await writeFile(join(folder, '4.m4s'), Buffer.alloc(300_000))
    await writeFile(join(folder, '6.m4s'), randomBytes(LARGE))
    const [whole, broken] = [root.replace(distributionId, countedId), root.replace(distributionId, brokenId)]
    const ask = (path: string, method = 'GET') => live.running.call(method, path, undefined, { authorization: '' })
    await ask(`${whole}/4.m4s`)
    await Promise.all(Array.from({ length: 19 }, () => ask(`${whole}/4.m4s`)))
    await ask(`${broken}/6.m4s`, 'HEAD')
    const answer = await begun('6.m4s', broken)
    const [chunk] = (await once(answer, 'data')) as [Buffer]
    answer.destroy()
    await expect.poll(() => counted(countedId), { timeout: 30_000 }).toBe(20 * 300_000)
    await expect.poll(() => counted(brokenId), { timeout: 30_000 }).toBeGreaterThanOrEqual(chunk.length)
    expect(await counted(brokenId)).toBeLessThanOrEqual(LARGE)
  })

  it('a segment under way arrives whole, even if its file is removed and the cache drops it', async () => {
    const bytes = randomBytes(LARGE)
    await writeFile(join(folder, '5.m4s'), bytes)
    await play('5.m4s', {}, 'HEAD')
    await until(async () => (await play(`5.m4s${ROUTE}`, {}, 'HEAD')).status === 200)
    const answers = await Promise.all([begun('5.m4s'), begun('5.m4s'), begun('5.m4s')])
    await rm(join(folder, '5.m4s'))
    await expect.poll(async () => (await play('5.m4s')).status, { timeout: 30_000 }).toBe(404)
    for (const answer of answers) expect((await buffer(answer)).equals(bytes)).toBe(true)
  })

  it('a stop in the middle of an answer does not delay the server for long', async () => {
    const other = await runChannels({ flags: { server: { sendfile, shutdownGraceSeconds: 0 } } })
    const { engines, distributions } = await other.made('POST', '/channels', CHANNEL)
    const path = `/v2/distributions/${distributions[0].id}/hls/${engines[0].id}/0`
    const folder = join(other.running.dataDir, 'channels', engines[0].id, '0')
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, '1.m4s'), randomBytes(LARGE))
    await other.running.call('HEAD', `${path}/1.m4s`, undefined, { authorization: '' })
    const answer = await begun('1.m4s', path, other)
    await other.close()
    await expect(buffer(answer)).rejects.toThrow()
  })
})

it('the segment cache is bounded, and drops and closes segments soon after their last request', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-segments-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  let nowMs = 0
  let made = 0
  const held = new Set<number>()
  const sendfile: Sendfile = {
    hold() {
      held.add(++made)
      return made
    },
    release: (file) => void held.delete(file),
    send: () => 0,
  }
  const cache = new SegmentCache({ ...systemClock, monotonic: () => nowMs }, sendfile)
  for (let i = 0; i < 20; i++) {
    const path = join(folder, `9${i}.m4s`)
    await writeFile(path, Buffer.alloc(4 * 1024 * 1024))
    expect((await cache.read(path))?.length).toBe(4 * 1024 * 1024)
    await rm(path)
  }
  expect(cache.size).toBe(64 * 1024 * 1024)
  expect(held.size).toBe(16)
  expect(cache.peek(join(folder, '90.m4s'))).toBeUndefined()
  expect(cache.peek(join(folder, '919.m4s'))).toBeDefined()
  nowMs += 10_001
  cache.sweep()
  expect(cache.size).toBe(0)
  expect(held.size).toBe(0)
})
