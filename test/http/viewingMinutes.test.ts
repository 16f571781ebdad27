import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SegmentTimes } from '../../src/edge/http/channels/segmentTimes.ts'
import { servedBy } from '../support/served.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'

describe.each([true, false])('with sendfile: %s', (sendfile) => {
  let live: ChannelsClient
  let folder: string
  let root: string
  let distributionId: string
  beforeAll(async () => {
    live = await runChannels({ flags: { server: { sendfile } } })
    const made = await live.made('POST', '/channels', {
      name: 'stage',
      ingests: [{ name: 'i', type: 'rtmp-push', engines: [{ name: 'e' }] }],
      distributions: [{ name: 'web' }],
    })
    const engineId = made.engines[0].id
    distributionId = made.distributions[0].id
    folder = join(live.running.dataDir, 'channels', engineId, '0')
    root = `/v2/distributions/${distributionId}/hls/${engineId}/0`
    await mkdir(folder, { recursive: true })
  })
  afterAll(() => live.close())

  /** The fast path leaves a request with an unknown query to the framework, which ignores the query. */
  const ROUTE = '?via=route'

  it('counts the playing time of whole segments, on the fast path and on the route', async () => {
    const get = async (file: string, headers = {}, method = 'GET') =>
      (await live.running.call(method, `${root}/${file}`, undefined, { authorization: '', ...headers })).text.length
    const playlist = '#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2.000000,\n0_5.m4s\n#EXTINF:1.96,\n0_6.m4s\n'
    await writeFile(join(folder, 'index.m3u8'), playlist)
    await writeFile(join(folder, '0_5.m4s'), Buffer.alloc(1000))
    await writeFile(join(folder, '0_6.m4s'), Buffer.alloc(8 * 1024 * 1024))
    let bytes = await get('index.m3u8')
    for (const file of ['0_5.m4s', '0_5.m4s', `0_5.m4s${ROUTE}`, '0_6.m4s', '0_6.m4s']) bytes += await get(file)
    for (const query of ['', ROUTE]) await breakOff(live.running.base, `${root}/0_6.m4s${query}`)
    await get('0_5.m4s', {}, 'HEAD')
    bytes += await get('0_5.m4s', { range: 'bytes=0-499' })
    bytes += await get('0_5.m4s', { range: 'bytes=500-' })
    const counted = async () => (await servedBy(live.running.app.ctx.store, distributionId))[0]
    const more = async () => ((await counted())?.bytesOut ?? 0) - bytes
    await expect.poll(more, { timeout: 15_000 }).toBeGreaterThan(2 * 65_536)
    expect((await counted())?.viewedMs).toBe(3 * 2000 + 2 * 1960)
  })
})

/** Requests something large, and disconnects after the first bytes. */
async function breakOff(base: string, path: string): Promise<void> {
  const { hostname, port } = new URL(base)
  const socket = connect(Number(port), hostname)
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`)
  await once(socket, 'readable')
  socket.destroy()
}

it('cached playing times are bounded, and the oldest go first', () => {
  const times = new SegmentTimes()
  const playlist = (from: number) =>
    Array.from({ length: 10 }, (_, at) => `#EXTINF:2.0,\n0_${from + at}.m4s\n`).join('')
  for (let from = 0; from < 30_000; from += 5) times.learn('/engine/0', playlist(from))
  expect(times.size).toBe(20_000)
  expect([times.of('/engine/0/0_0.m4s'), times.of('/engine/0/0_29990.m4s')]).toEqual([0, 2000])
  times.learn('/engine/0', playlist(0))
  expect(times.of('/engine/0/0_0.m4s')).toBe(2000)
})
