import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encoder } from './encoder.ts'
import type { Peer } from './peer.ts'
import { setStage, type Stage } from './sluice.ts'

const SECRET = 'a secret that only the website knows'
const LADDER = {
  name: 'small',
  video: [
    { width: 320, height: 180, bitrate: 300_000 },
    { width: 160, height: 90, bitrate: 100_000 },
  ],
}

let stage: Stage
beforeAll(async () => {
  stage = await setStage()
})
afterAll(() => stage.close())

function viewerToken(channelId: string): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const exp = Math.floor(Date.now() / 1000) + 600
  const text = `${encode({ alg: 'HS256' })}.${encode({ exp, streaming: { ch: [channelId], tid: 'crew' } })}`
  return `${text}.${createHmac('sha256', SECRET).update(text).digest('base64url')}`
}

type Played = Awaited<ReturnType<Peer['played']>>

const moves = ({ frames, currentTime }: Played): boolean => frames > 25 && currentTime > 0.5

test('what an encoder pushes into a channel plays in two sizes in hls.js, for who has a token, and ends with the stop', async () => {
  const ladder = await stage.v2('POST', '/abr', LADDER)
  const quality = { abrLadderId: ladder.id }
  const channel = await stage.v2('POST', '/channels', {
    name: 'Stage',
    ingests: [{ name: 'Camera', type: 'rtmp-push', engines: [{ name: 'Main', quality }] }],
    distributions: [{ name: 'all' }, { name: 'small', maxBitrate: 400_000, security: { keys: [{ key: SECRET }] } }],
  })
  await stage.v2('POST', `/channels/${channel.id}/start`)
  const broadcast = encoder(stage.ingest(channel.ingests[0].streamKey))
  const statusOf = async () => (await stage.v2('GET', `/channels/${channel.id}`)).status
  await expect.poll(statusOf, { timeout: 30_000, interval: 300 }).toBe('playing')

  const urlOf = (id: string) => `${stage.server.url}/v2/distributions/${id}/hls/main.m3u8`
  const [all, small] = channel.distributions
  const [wide, narrow] = [await stage.peer(), await stage.peer()]
  await expect.poll(() => wide.hls({ url: urlOf(all.id) }), { timeout: 15_000, interval: 300 }).toBe('ok')
  await expect
    .poll(() => wide.played(), { timeout: 30_000 })
    .toSatisfy((played: Played) => moves(played) && played.width === 320)

  expect(await narrow.hls({ url: urlOf(small.id) })).toMatch(/^403/)
  const token = viewerToken(channel.id)
  await expect.poll(() => narrow.hls({ url: urlOf(small.id), token }), { timeout: 15_000, interval: 300 }).toBe('ok')
  await expect.poll(() => narrow.played(), { timeout: 30_000 }).toSatisfy(moves)
  expect((await narrow.played()).width).toBe(160)

  await stage.v2('POST', `/channels/${channel.id}/stop`)
  await expect.poll(statusOf, { timeout: 10_000 }).toBe('stopped')
  await broadcast.stop()
  expect((await fetch(urlOf(all.id))).status).toBe(404)
})
