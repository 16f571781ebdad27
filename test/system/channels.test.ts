import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { endChildren, ended, pushTo, textOf, workingIn } from '../support/channels.ts'
import { until } from '../support/until.ts'
import { ownPort } from '../support/ownPort.ts'
import { receiveEvents, type EventReceiver } from '../support/eventReceiver.ts'
import { servedBy } from '../support/served.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'
import { playbackFolder } from '../support/playbackFolder.ts'
import { RtspCamera } from '../support/rtspCamera.ts'
import { sluice } from './cliProcess.ts'

const LADDER = {
  name: 'small',
  video: [
    { label: '180p', width: 320, height: 180, bitrate: 300_000 },
    { label: '90p', width: 160, height: 90, bitrate: 100_000 },
  ],
  audio: { bitrate: 64 },
}

let live: ChannelsClient
let receiver: EventReceiver

beforeAll(async () => {
  live = await runChannels({
    flags: { webhooks: { allowPrivateTargets: true }, media: { allowedNetworks: ['127.0.0.0/8'] } },
  })
  receiver = await receiveEvents()
})
afterEach(endChildren)
afterAll(async () => {
  await live.close()
  receiver.close()
})

interface Made {
  channelId: string
  engineId: string
  ingestId: string
  key: string
}

async function makeChannel(timeout = 3600): Promise<Made> {
  const ladder = await live.made('POST', '/abr', LADDER)
  const channel = await live.made('POST', '/channels', {
    name: 'Stage',
    timeout,
    ingests: [
      {
        name: 'Camera',
        type: 'rtmp-push',
        region: 'local',
        engines: [{ name: 'Main', region: 'local', quality: { abrLadderId: ladder.id } }],
      },
    ],
  })
  const [ingest] = channel.ingests
  return { channelId: channel.id, engineId: channel.engines[0].id, ingestId: ingest.id, key: ingest.streamKey }
}

const push = (key: string): ChildProcess => pushTo(`rtmp://127.0.0.1:${live.running.rtmpPort}/live/${key}`)

const statusOf = async (id: string): Promise<string> => (await live.made('GET', `/channels/${id}`)).status

async function reaches(id: string, status: string): Promise<void> {
  let last = ''
  await until(async () => (last = await statusOf(id)) === status, status).catch((error: Error) => {
    throw new Error(`${error.message}; it is ${last}`)
  })
}

/** The delivered events in a webhook's log. */
async function deliveredTo(hookId: string): Promise<string[]> {
  const { data } = (await live.v2('GET', `/webhooks/${hookId}/logs?limit=100`)).json
  return data.filter((one: { statusCode: number }) => one.statusCode === 200).map((one: { type: string }) => one.type)
}

/** The init segments and segments of a playlist. */
const namesIn = (playlist: string): string[] => [...playlist.matchAll(/init-\w+\.mp4|s\d+\.m4s/g)].map(([name]) => name)

const lastRun = (engineId: string) => live.made('GET', `/engines/${engineId}/last-run`)

/** 25 frames per second in two renditions, from the encoder on this machine. */
async function expectMeasured(ingestId: string, engineId: string): Promise<void> {
  const engine = () => live.made('GET', `/monitoring/engines/${engineId}`)
  await until(async () => (await engine()).renditions.length === 2, 'segments of both renditions')
  const { renditions } = await engine()
  expect(renditions.map(({ name }: { name: string }) => name)).toEqual(['180p', '90p'])
  for (const { metrics } of renditions) {
    const [{ time, framerate, bitrate }] = metrics
    expect(Math.abs(Date.now() - Date.parse(time))).toBeLessThan(15_000)
    expect(framerate).toBeGreaterThan(22)
    expect(framerate).toBeLessThan(28)
    expect(bitrate).toBeGreaterThan(30_000)
    expect(bitrate).toBeLessThan(1_000_000)
  }
  const ingest = await live.made('GET', `/monitoring/ingests/${ingestId}`)
  expect(ingest).toMatchObject({ id: ingestId, status: 'connected', protocol: 'rtmp' })
  expect(Date.parse(ingest.started)).toBeLessThanOrEqual(Date.now())
  expect(ingest.uptime).toBeGreaterThanOrEqual(1)
  const [metric] = ingest.metrics
  const location = { ip: '127.0.0.1', region: 'local' }
  expect(metric).toMatchObject({ packetLoss: null, rtt: null, location })
  expect(metric.bitrate.total).toBeGreaterThan(50_000)
}

describe('a channel', () => {
  test("plays two renditions of a publisher's push, and leaves nothing behind when it is stopped", async () => {
    const hook = { name: 'Hook', url: receiver.url, events: ['*'], active: true }
    const { id: hookId } = await live.made('POST', '/webhooks', hook)
    const { channelId, engineId, ingestId, key } = await makeChannel()
    expect((await live.v2('POST', `/channels/${channelId}/start`)).status).toBe(204)
    await reaches(channelId, 'waiting')
    push(key)
    await reaches(channelId, 'playing')
    await expectMeasured(ingestId, engineId)
    const folder = join(live.running.dataDir, 'channels', engineId)
    const { id: distributionId } = await live.made('POST', `/channels/${channelId}/distributions`, {
      name: 'Web',
      endpoints: { engineIds: [engineId] },
    })
    const at = `${live.running.base}/v2/distributions/${distributionId}`
    expect(await probe(`${at}/hls/main.m3u8`)).toEqual(['aac', 'h264 160x90', 'h264 320x180'])
    const image = await until(async () => {
      const answer = await fetch(`${at}/thumbnails/thumbnail.jpeg`)
      return answer.ok ? answer : undefined
    }, 'a thumbnail')
    expect([image.status, image.headers.get('content-type')]).toEqual([200, 'image/jpeg'])
    const bytes = () => servedBy(live.running.app.ctx.store, distributionId)
    await until(async () => (await bytes()).some(({ bytesOut }) => bytesOut > 10_000), 'bytes that were served')
    expect((await bytes()).reduce((sum, { viewedMs }) => sum + viewedMs, 0)).toBeGreaterThan(1900)
    expect((await live.v2('POST', `/channels/${channelId}/start`)).status).toBe(204)
    expect((await live.v2('DELETE', `/channels/${channelId}`)).json.code).toBe('channel_running')
    expect((await lastRun(engineId)).end).toBeUndefined()

    expect((await live.v2('POST', `/channels/${channelId}/stop`)).status).toBe(204)
    await reaches(channelId, 'stopped')
    expect(existsSync(folder)).toBe(false)
    expect((await live.made('GET', `/monitoring/engines/${engineId}`)).renditions).toHaveLength(2)
    const run = await lastRun(engineId)
    expect(run).toMatchObject({
      engineId,
      startType: 'api',
      stopType: 'api',
      config: { ingest: { type: 'rtmp-push' } },
    })
    expect(Date.parse(run.end)).toBeGreaterThan(Date.parse(run.start))
    const runs = (await live.v2('GET', `/channels/${channelId}/runs`)).json
    expect(runs).toMatchObject({ data: [run], pagination: { hasMore: false } })
    await until(async () => (await deliveredTo(hookId)).includes('channel.stopped'), 'the log of the last event')
    const delivered = (await deliveredTo(hookId)).filter(
      (type) => /^engine\.[a-z]+$/.test(type) && type !== 'engine.created',
    )
    const states = ['deploying', 'starting', 'waiting', 'ingesting', 'playing', 'stopping', 'stopped']
    expect(delivered.sort()).toEqual(states.map((state) => `engine.${state}`).sort())
    expect((await deliveredTo(hookId)).filter((type) => type.startsWith('engine.log.'))).toEqual(['engine.log.info'])
    await live.v2('PATCH', `/webhooks/${hookId}`, { active: false })
  })

  test('waits when its publisher leaves, plays when it is back, and stops by itself without one', async () => {
    const { channelId, engineId, key } = await makeChannel(2)
    await live.v2('POST', `/channels/${channelId}/start`)
    const publisher = push(key)
    await reaches(channelId, 'playing')
    publisher.kill('SIGKILL')
    await reaches(channelId, 'waiting')
    push(key)
    await reaches(channelId, 'playing')
    endChildren()
    await reaches(channelId, 'stopped')
    expect(await lastRun(engineId)).toMatchObject({ startType: 'api', stopType: 'timeout' })
  })

  test('whose ffmpeg is killed reports it and plays again, and its playlists continue', async () => {
    const { channelId, engineId, key } = await makeChannel()
    await live.v2('POST', `/channels/${channelId}/start`)
    push(key)
    await reaches(channelId, 'playing')
    const folder = join(live.running.dataDir, 'channels', engineId)
    const web = { name: 'Web', endpoints: { engineIds: [engineId] } }
    const { id: distributionId } = await live.made('POST', `/channels/${channelId}/distributions`, web)
    const playback = await playbackFolder(live.running.base, distributionId, engineId)
    const playlistNow = () => fetch(`${live.running.base}${playback}/media.m3u8`)
    const listed = async () => (await playlistNow()).text()
    const before = namesIn(await listed())
    expect(before.slice(0, 2)).toEqual([expect.stringMatching(/^init-\w+\.mp4$/), expect.stringMatching(/^s\d+\.m4s$/)])
    for (const pid of await workingIn(folder)) process.kill(pid, 'SIGKILL')
    await reaches(channelId, 'error')
    expect(namesIn(await listed()).slice(0, before.length)).toEqual(before)
    await reaches(channelId, 'playing')
    const playlist = await listed()
    const names = namesIn(playlist)
    expect(names.slice(0, before.length)).toEqual(before)
    const numbers = names.flatMap((name) => /^s(\d+)\.m4s/.exec(name)?.[1] ?? []).map(Number)
    expect(numbers).toEqual(numbers.map((_, index) => Number(/MEDIA-SEQUENCE:(\d+)/.exec(playlist)?.[1]) + index))
    expect(playlist).toMatch(/\d\.m4s\n#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI="init-\w+\.mp4"[^]*\d\.m4s/)
    expect(playlist).not.toContain('ENDLIST')
    const { url } = await playlistNow()
    for (const name of names) expect((await fetch(new URL(name, url))).status).toBe(200)
    await live.v2('POST', `/channels/${channelId}/stop`)
    await reaches(channelId, 'stopped')
    expect(await workingIn(folder)).toEqual([])
  })

  test('lets the newest of two publishers use its key, and none after the key was rotated', async () => {
    const { channelId, key } = await makeChannel()
    // The publisher may connect before the engine is ready.
    const first = push(key)
    await live.v2('POST', `/channels/${channelId}/start`)
    await reaches(channelId, 'playing')
    const [gone, output] = [new Promise((done) => first.once('exit', done)), textOf(first)]
    push(key)
    await gone
    expect(await output).toContain('Another publisher has come with the same stream key')
    await reaches(channelId, 'playing')
    const [ingest] = (await live.made('GET', `/channels/${channelId}/ingests`)) as { id: string }[]
    await live.made('POST', `/ingests/${ingest?.id}/rotate-key`)
    await reaches(channelId, 'waiting')
    const late = push(key)
    expect(await new Promise((done) => late.once('exit', done))).not.toBe(0)
    await live.v2('POST', `/channels/${channelId}/stop`)
    await reaches(channelId, 'stopped')
  })

  test('cuts the publisher whose key another process has rotated, and accepts one with the new key', async () => {
    const { channelId, key } = await makeChannel()
    await live.v2('POST', `/channels/${channelId}/start`)
    const old = push(key)
    const output = textOf(old)
    await reaches(channelId, 'playing')
    const [ingest] = (await live.made('GET', `/channels/${channelId}/ingests`)) as { id: string }[]
    const rotated = await sluice(['--data', live.running.dataDir, 'ingest', 'rotate-key', ingest?.id ?? ''])
    expect(rotated).toMatchObject({ status: 0, stderr: '' })
    expect(await output).toContain('This stream key is no longer valid')
    push(rotated.stdout.trim())
    await reaches(channelId, 'playing')
    await live.v2('POST', `/channels/${channelId}/stop`)
    await reaches(channelId, 'stopped')
  })

  test('without a usable engine does not start, and the refusal says why', async () => {
    const channel = await live.made('POST', '/channels', { name: 'Empty' })
    const answer = await live.v2('POST', `/channels/${channel.id}/start`)
    expect([answer.status, answer.json.code]).toEqual([409, 'engine_not_ready'])
    expect((await live.v2('POST', '/channels/ch_nothing/start')).status).toBe(404)
    expect((await live.v2('POST', `/channels/${channel.id}/stop`)).status).toBe(204)
  })
})

describe('a pulled source', () => {
  test('over SRT plays when it answers, and is pulled again after it was lost', async () => {
    const port = await ownPort()
    const { channelId, engineId, ingestId } = await makePull(live, 'srt-pull', `srt://127.0.0.1:${port}`)
    await live.v2('POST', `/channels/${channelId}/start`)
    await reaches(channelId, 'waiting')
    const first = listen(port)
    await reaches(channelId, 'playing')
    expect((await lastRun(engineId)).config.ingest).toEqual({ type: 'srt-pull' })
    const source = () => live.made('GET', `/monitoring/ingests/${ingestId}`)
    await until(async () => (await source()).metrics.at(-1)?.rtt !== null, 'a round trip')
    expect(await source()).toMatchObject({ status: 'connected', protocol: 'srt', uptime: expect.any(Number) })
    const { metrics } = await source()
    expect(metrics.at(-1)).toMatchObject({ rtt: expect.any(Number), location: { ip: '127.0.0.1' } })
    expect(metrics.filter(({ packetLoss }: { packetLoss: number }) => packetLoss > 0)).toEqual([])
    expect(metrics.some(({ bitrate }: { bitrate: { total: number } }) => bitrate.total > 50_000)).toBe(true)
    first.kill('SIGKILL')
    await reaches(channelId, 'waiting')
    expect(await source()).toMatchObject({ status: 'disconnected', protocol: 'srt' })
    listen(port)
    await reaches(channelId, 'playing')
    await live.v2('POST', `/channels/${channelId}/stop`)
    await reaches(channelId, 'stopped')
  })

  test('over RTSP plays with its login, is measured, and plays again when the camera is back', async () => {
    const login = { user: 'viewer', password: 'camera-password-1', scheme: 'Digest' } as const
    const camera = await RtspCamera.start({ login, audio: 'aac', losesAudio: 10 })
    const { port } = camera
    const url = `rtsp://viewer:${login.password}@127.0.0.1:${port}/stream1`
    const { channelId, engineId, ingestId } = await makePull(live, 'rtsp-pull', url)
    await live.v2('POST', `/channels/${channelId}/start`)
    await reaches(channelId, 'playing')
    const source = () => live.made('GET', `/monitoring/ingests/${ingestId}`)
    await until(async () => (await source()).metrics.at(-1)?.bitrate.total > 20_000, 'a bitrate')
    expect(await source()).toMatchObject({ status: 'connected', protocol: 'rtsp', metrics: expect.any(Array) })
    await until(async () => (await source()).metrics.at(-1)?.packetLoss > 0, 'what the camera did not send')
    const encoded = async () => (await live.made('GET', `/monitoring/engines/${engineId}`)).renditions[0]?.metrics ?? []
    await until(async () => (await encoded()).at(-1)?.framerate > 10, 'a frame rate')
    const { stdout: processes } = await exec('ps', ['-eww', '-o', 'args'])
    expect(processes).not.toContain(login.password)
    await camera.stop()
    await reaches(channelId, 'waiting')
    const again = await RtspCamera.start({ login, audio: 'aac', port })
    await reaches(channelId, 'playing')
    await live.v2('POST', `/channels/${channelId}/stop`)
    await reaches(channelId, 'stopped')
    await until(() => again.clients === 0, 'the end of the connection')
    await again.stop()
  })

  test('with two engines is dialled once, until the last of them stops', async () => {
    const camera = await RtspCamera.start()
    const { id: abrLadderId } = await live.made('POST', '/abr', LADDER)
    const engines = ['Main', 'Spare'].map((name) => ({ name, region: 'local', quality: { abrLadderId } }))
    const url = `rtsp://127.0.0.1:${camera.port}/stream1`
    const ingests = [{ name: 'Camera', type: 'rtsp-pull', region: 'local', url, engines }]
    const { id, engines: made } = await live.made('POST', '/channels', { name: 'Yard', ingests })
    const [main, spare] = made as [{ id: string }, { id: string }]
    const engineIs = async (engineId: string, status: string) =>
      (await live.made('GET', `/engines/${engineId}`)).status === status
    await live.v2('POST', `/channels/${id}/start`)
    await until(async () => (await engineIs(main.id, 'playing')) && engineIs(spare.id, 'playing'))
    expect(camera.clients).toBe(1)
    await live.v2('POST', `/engines/${main.id}/stop`)
    await until(() => engineIs(main.id, 'stopped'))
    expect([await engineIs(spare.id, 'playing'), camera.clients]).toEqual([true, 1])
    await live.v2('POST', `/channels/${id}/stop`)
    await until(() => camera.clients === 0, 'the end of the connection')
    expect(camera.requests.filter((line) => line.startsWith('PLAY'))).toHaveLength(1)
    await camera.stop()
  })

  test('over RTSP that refuses the login is left alone after three tries, until its channel is started again', async () => {
    const login = { user: 'viewer', password: 'camera-password-2', scheme: 'Basic' } as const
    const camera = await RtspCamera.start({ login })
    const at = `127.0.0.1:${camera.port}/stream1`
    const { channelId, engineId, ingestId } = await makePull(live, 'rtsp-pull', `rtsp://viewer:wrong-password@${at}`)
    await live.v2('POST', `/channels/${channelId}/start`)
    await reaches(channelId, 'error')
    const { statusMessage } = await live.made('GET', `/engines/${engineId}`)
    expect(statusMessage).toMatch(
      /^Sluice does not dial the source any more.*: The source refuses the user or the password$/,
    )
    expect(statusMessage).not.toContain('wrong-password')
    await live.v2('PATCH', `/ingests/${ingestId}`, { url: `rtsp://viewer:${login.password}@${at}` })
    await live.v2('POST', `/channels/${channelId}/start`)
    await reaches(channelId, 'playing')
    await live.v2('POST', `/channels/${channelId}/stop`)
    await reaches(channelId, 'stopped')
    await camera.stop()
  })

  test('without ffmpeg puts the engine in error, with the reason', async () => {
    const bare = await runChannels({
      flags: { ffmpeg: { path: '/nowhere/ffmpeg' }, media: { allowedNetworks: ['127.0.0.0/8'] } },
    })
    try {
      const port = await ownPort()
      listen(port)
      const { channelId, engineId } = await makePull(bare, 'srt-pull', `srt://127.0.0.1:${port}`)
      await bare.v2('POST', `/channels/${channelId}/start`)
      const engine = () => bare.made('GET', `/engines/${engineId}`)
      await until(async () => (await engine()).status === 'error', 'error')
      expect((await engine()).statusMessage).toContain('There is no program /nowhere/ffmpeg')
    } finally {
      await bare.close()
    }
  })
})

async function makePull(client: ChannelsClient, type: string, url: string): Promise<Omit<Made, 'key'>> {
  const ladder = await client.made('POST', '/abr', { ...LADDER, video: LADDER.video.slice(1) })
  const engines = [{ name: 'Main', region: 'local', quality: { abrLadderId: ladder.id } }]
  const ingests = [{ name: 'Far', type, region: 'local', url, engines }]
  const channel = await client.made('POST', '/channels', { name: 'Pulled', ingests })
  return { channelId: channel.id, engineId: channel.engines[0].id, ingestId: channel.ingests[0].id }
}

/** A source that waits for an SRT connection. */
function listen(port: number): ChildProcess {
  const video = '-re -f lavfi -i testsrc2=size=320x180:rate=25 -f lavfi -i sine=frequency=440:sample_rate=48000'
  const codecs = '-c:v libx264 -preset ultrafast -tune zerolatency -g 25 -pix_fmt yuv420p -c:a aac -f mpegts'
  const args = `-hide_banner -loglevel error ${video} ${codecs} srt://127.0.0.1:${port}?mode=listener`.split(' ')
  return ended(spawn('ffmpeg', args, { stdio: 'ignore' }))
}

const exec = promisify(execFile)

async function probe(playlist: string): Promise<string[]> {
  const asked = ['-v', 'error', '-show_entries', 'stream=codec_name,width,height', '-of', 'csv=p=0', playlist]
  const { stdout } = await exec('ffprobe', asked)
  const lines = stdout
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replace(/,(\d+),(\d+)$/, ' $1x$2'))
  return [...new Set(lines)].sort()
}

describe('a server', () => {
  test('leaves no folder of an engine behind', async () => {
    expect(await readdir(join(live.running.dataDir, 'channels'))).toEqual([])
  })
})
