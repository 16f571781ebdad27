import { createHmac } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, type ExpectStatic, test } from 'vitest'
import { ffmpegPublisher } from './ffmpegPublisher.ts'
import type { Peer } from './peer.ts'
import { setStage, type Stage } from './sluice.ts'

/** Time for a player to measure its bandwidth, even on a busy machine. */
const SOON = { timeout: 120_000, interval: 200 }

const SECRET = 'a secret that only the website knows'
const LADDER = {
  name: 'small',
  video: [
    { width: 320, height: 180, bitrate: 300_000 },
    { width: 160, height: 90, bitrate: 100_000 },
  ],
}

/** Larger than any rendition. Four publishers and five engines share the machine. */
const SIZE = '480x270'

/** A ladder that this stage's ffmpeg cannot encode in real time as a whole. */
const HEAVY = { ...LADDER, video: LADDER.video.map((rung) => ({ ...rung, bitrate: rung.bitrate - 1 })) }
const SLOW = `#!/bin/sh
case "$*" in *"[v1]"*"-b:v 299999"*|*"-b:v 299999"*"[v1]"*) exec ffmpeg -readrate 0.6 "$@";; esac
exec ffmpeg "$@"
`

let stage: Stage
let dir: string
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sluice-e2e-channel-'))
  const ffmpeg = join(dir, 'ffmpeg')
  await writeFile(ffmpeg, SLOW, { mode: 0o755 })
  stage = await setStage({ SLUICE_FFMPEG_PATH: ffmpeg })
})
afterAll(async () => {
  await stage.close()
  await rm(dir, { recursive: true })
})

function viewerToken(channelId: string): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const exp = Math.floor(Date.now() / 1000) + 600
  const text = `${encode({ alg: 'HS256' })}.${encode({ exp, streaming: { ch: [channelId], tid: 'crew' } })}`
  return `${text}.${createHmac('sha256', SECRET).update(text).digest('base64url')}`
}

type Played = Awaited<ReturnType<Peer['played']>>

const moves = ({ frames, currentTime }: Played): boolean => frames > 25 && currentTime > 0.5

// They mostly wait for players, so they run concurrently, each with its own channel.

test.concurrent('a publisher pushes into a channel; hls.js plays it in two sizes with a token, and ends with the stop', async ({
  expect,
}) => {
  const ladder = await stage.v2('POST', '/abr', LADDER)
  const quality = { abrLadderId: ladder.id }
  const channel = await stage.v2('POST', '/channels', {
    name: 'Stage',
    ingests: [{ name: 'Camera', type: 'rtmp-push', engines: [{ name: 'Main', quality }] }],
    distributions: [{ name: 'all' }, { name: 'small', maxBitrate: 400_000, security: { keys: [{ key: SECRET }] } }],
  })
  await stage.v2('POST', `/channels/${channel.id}/start`)
  const broadcast = ffmpegPublisher(stage.ingest(channel.ingests[0].streamKey), SIZE)
  const statusOf = async () => (await stage.v2('GET', `/channels/${channel.id}`)).status
  await expect.poll(statusOf, SOON).toBe('playing')

  const urlOf = (id: string) => `${stage.server.url}/v2/distributions/${id}/hls/main.m3u8`
  const [all, small] = channel.distributions
  const [wide, narrow] = [await stage.peer(), await stage.peer()]
  await expect.poll(() => wide.hls({ url: urlOf(all.id) }), SOON).toBe('ok')
  await expect.poll(() => wide.played(), SOON).toSatisfy((played: Played) => moves(played) && played.width === 320)

  expect(await narrow.hls({ url: urlOf(small.id) })).toMatch(/^403/)
  const token = viewerToken(channel.id)
  await expect.poll(() => narrow.hls({ url: urlOf(small.id), token }), SOON).toBe('ok')
  await expect.poll(() => narrow.played(), SOON).toSatisfy(moves)
  expect((await narrow.played()).width).toBe(160)

  await stage.v2('POST', `/channels/${channel.id}/stop`)
  await expect.poll(statusOf, SOON).toBe('stopped')
  await broadcast.stop()
  expect((await fetch(urlOf(all.id))).status).toBe(404)
}, 240_000)

/** Waits until the page has shown three more seconds of media. */
async function goesOn(viewer: Peer, expect: ExpectStatic): Promise<void> {
  const before = await viewer.played()
  await expect
    .poll(() => viewer.played(), SOON)
    .toSatisfy(({ frames, currentTime }: Played) => currentTime > before.currentTime + 3 && frames > before.frames + 50)
}

/** The engine of the page's latest segment or part. */
function engineOf({ page }: Peer): () => string {
  let engineId = ''
  page.on('response', (response) => {
    const [, id] = /\/(\w+)-\d+\/[sp]\d+\.m4s/.exec(response.url()) ?? []
    if (response.ok() && id !== undefined) engineId = id
  })
  return () => engineId
}

/** Returns a function that limits a page's bandwidth, in bits a second; -1: no limit. */
async function narrowing({ page }: Peer): Promise<(bitsPerSecond: number) => Promise<void>> {
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  return async (bits) => {
    const downloadThroughput = bits < 0 ? -1 : bits / 8
    const conditions = { offline: false, latency: 0, downloadThroughput, uploadThroughput: -1 }
    await session.send('Network.emulateNetworkConditions', conditions)
  }
}

test.concurrent('a viewer in hls.js keeps playing when bandwidth drops and recovers, and moves to the next engine', async ({
  expect,
}) => {
  const ladder = await stage.v2('POST', '/abr', LADDER)
  const quality = { abrLadderId: ladder.id }
  const engines = [
    { name: 'Main', priority: 0, quality },
    { name: 'Spare', priority: 5, quality },
  ]
  const channel = await stage.v2('POST', '/channels', {
    name: 'Stage',
    ingests: [{ name: 'Camera', type: 'rtmp-push', engines }],
    distributions: [{ name: 'all' }],
  })
  const idOf = (wanted: string): string => channel.engines.find(({ name }: { name: string }) => name === wanted).id
  const [main, spare] = [idOf('Main'), idOf('Spare')]
  const playing = (id: string) =>
    expect.poll(async () => (await stage.v2('GET', `/engines/${id}`)).status, SOON).toBe('playing')
  await stage.v2('POST', `/engines/${main}/start`)
  const broadcast = ffmpegPublisher(stage.ingest(channel.ingests[0].streamKey), SIZE)
  await playing(main)

  const viewer = await stage.peer()
  const engine = engineOf(viewer)
  const url = `${stage.server.url}/v2/distributions/${channel.distributions[0].id}/hls/main.m3u8`
  await stage.v2('POST', `/engines/${spare}/start`)
  await playing(spare)
  expect(await viewer.hls({ url })).toBe('ok')
  const shows = (width: number) => expect.poll(async () => (await viewer.played()).width, SOON).toBe(width)
  await shows(320)
  await goesOn(viewer, expect)
  expect(engine()).toBe(main)

  const narrow = await narrowing(viewer)
  await narrow(250_000)
  await shows(160)
  await goesOn(viewer, expect)
  await narrow(-1)
  await shows(320)

  await stage.v2('POST', `/engines/${main}/stop`)
  await expect.poll(engine, SOON).toBe(spare)
  await goesOn(viewer, expect)
  await stage.v2('POST', `/channels/${channel.id}/stop`)
  await broadcast.stop()
}, 240_000)

test.concurrent('a viewer in hls.js keeps playing when the ffmpeg of the only engine is killed', async ({ expect }) => {
  const ladder = await stage.v2('POST', '/abr', LADDER)
  const channel = await stage.v2('POST', '/channels', {
    name: 'Stage',
    ingests: [{ name: 'Camera', type: 'rtmp-push', engines: [{ name: 'Main', quality: { abrLadderId: ladder.id } }] }],
    distributions: [{ name: 'all', latencies: { hls: 6 } }],
  })
  await stage.v2('POST', `/channels/${channel.id}/start`)
  const broadcast = ffmpegPublisher(stage.ingest(channel.ingests[0].streamKey), SIZE)
  const viewer = await stage.peer()
  const url = `${stage.server.url}/v2/distributions/${channel.distributions[0].id}/hls/main.m3u8`
  await expect.poll(() => viewer.hls({ url }), SOON).toBe('ok')
  await expect.poll(() => viewer.played(), SOON).toSatisfy(moves)

  const [pid = 0] = await stage.engine(channel.engines[0].id)
  process.kill(pid, 'SIGKILL')
  await expect.poll(() => stage.engine(channel.engines[0].id), SOON).not.toContain(pid)
  const before = await viewer.played()
  await expect
    .poll(() => viewer.played(), SOON)
    .toSatisfy(
      ({ frames, currentTime }: Played) => currentTime > before.bufferedTo + 1 && frames > before.frames + 25,
      'all buffered media is shown, and a second more',
    )
  await stage.v2('POST', `/channels/${channel.id}/stop`)
  await broadcast.stop()
}, 240_000)

test.concurrent('a viewer in hls.js continues in the smaller size when an overloaded engine drops the larger one', async ({
  expect,
}) => {
  const ladder = await stage.v2('POST', '/abr', HEAVY)
  const channel = await stage.v2('POST', '/channels', {
    name: 'Stage',
    ingests: [{ name: 'Camera', type: 'rtmp-push', engines: [{ name: 'Main', quality: { abrLadderId: ladder.id } }] }],
    distributions: [{ name: 'all', latencies: { hls: 6 } }],
  })
  await stage.v2('POST', `/channels/${channel.id}/start`)
  const broadcast = ffmpegPublisher(stage.ingest(channel.ingests[0].streamKey), SIZE)
  const viewer = await stage.peer()
  const url = `${stage.server.url}/v2/distributions/${channel.distributions[0].id}/hls/main.m3u8`
  await expect.poll(() => viewer.hls({ url }), SOON).toBe('ok')
  await expect.poll(async () => (await viewer.played()).width, SOON).toBe(320)
  const status = async () => (await stage.v2('GET', `/engines/${channel.engines[0].id}`)).statusMessage
  await expect.poll(status, SOON).toMatch(/leaves out 180p/)
  await expect.poll(async () => (await viewer.played()).width, SOON).toBe(160)
  await goesOn(viewer, expect)
  await stage.v2('POST', `/channels/${channel.id}/stop`)
  await broadcast.stop()
}, 240_000)
