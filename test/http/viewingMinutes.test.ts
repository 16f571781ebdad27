import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { playbackFolder } from '../support/playbackFolder.ts'
import { servedBy } from '../support/served.ts'
import { StagedEngine } from '../support/stagedEngine.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'

let live: ChannelsClient
let engine: StagedEngine
let root: string
let distributionId: string
beforeAll(async () => {
  live = await runChannels()
  const made = await live.made('POST', '/channels', {
    name: 'stage',
    ingests: [{ name: 'i', type: 'rtmp-push', engines: [{ name: 'e' }] }],
    distributions: [{ name: 'web' }],
  })
  const [{ id }] = made.engines
  distributionId = made.distributions[0].id
  engine = new StagedEngine(live.running.app.channelStreams, id, { frameBytes: 160 * 1024 }).begin().play(2)
  root = await playbackFolder(live.running.base, distributionId, id)
})
afterAll(() => live.close())

/** The fast path leaves a request with an unknown query to the framework, which ignores the query. */
const ROUTE = '?via=route'

it('counts the playing time of whole segments and parts, on the fast path and on the route', async () => {
  const get = async (file: string, headers = {}, method = 'GET') =>
    (await live.running.call(method, `${root}/${file}`, undefined, { authorization: '', ...headers })).text.length
  const [first, second] = engine.stream.facts('0')?.segments ?? []
  const [segment, other, part] = [`s${first?.n}.m4s`, `s${second?.n}.m4s`, `p${second?.parts[0]?.n}.m4s`]
  for (const file of ['media.m3u8', segment, `${segment}${ROUTE}`, part, `${part}${ROUTE}`]) await get(file)
  for (const query of ['', ROUTE]) await breakOff(live.running.base, `${root}/${other}${query}`)
  await get(segment, {}, 'HEAD')
  await get(segment, { range: 'bytes=0-499' })
  await get(segment, { range: 'bytes=500-' })
  const counted = async () => (await servedBy(live.running.app.ctx.store, distributionId))[0]
  const least = 3 * (first?.bytes ?? 0) + 2 * (second?.parts[0]?.bytes ?? 0)
  await expect.poll(async () => (await counted())?.bytesOut ?? 0).toBeGreaterThan(least)
  expect((await counted())?.viewedMs).toBe(2 * 2000 + 2 * 320)
})

/** Requests something large, and disconnects after the first bytes. */
async function breakOff(base: string, path: string): Promise<void> {
  const { hostname, port } = new URL(base)
  const socket = connect(Number(port), hostname)
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`)
  await once(socket, 'readable')
  socket.destroy()
}
