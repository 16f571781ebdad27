import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type LiveClient, runLive } from '../support/v2.ts'

const LADDER = {
  name: 'small',
  video: [
    { label: '180p', width: 320, height: 180, bitrate: 300_000 },
    { label: '90p', width: 160, height: 90, bitrate: 100_000 },
  ],
  audio: { bitrate: 64 },
}

let live: LiveClient
const encoders = new Set<ChildProcess>()

beforeAll(async () => {
  live = await runLive({ flags: { webhooks: { allowPrivateTargets: true } } })
})
afterEach(() => {
  for (const encoder of encoders) encoder.kill('SIGKILL')
  encoders.clear()
})
afterAll(() => live.close())

interface Made {
  channelId: string
  engineId: string
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
  return { channelId: channel.id, engineId: channel.engines[0].id, key: channel.ingests[0].streamKey }
}

/** An encoder that pushes two small tracks in real time. */
function push(key: string): ChildProcess {
  const url = `rtmp://127.0.0.1:${live.running.rtmpPort}/live/${key}`
  const video = '-f lavfi -i testsrc2=size=320x180:rate=25 -f lavfi -i sine=frequency=440:sample_rate=48000'
  const codecs = '-c:v libx264 -preset ultrafast -tune zerolatency -bf 0 -g 25 -pix_fmt yuv420p -c:a aac -f flv'
  const args = `-hide_banner -loglevel error -re ${video} ${codecs} ${url}`.split(' ')
  const encoder = spawn('ffmpeg', args, { stdio: 'ignore' })
  encoders.add(encoder)
  return encoder
}

async function until(check: () => Promise<boolean>, what: string): Promise<void> {
  for (let tries = 0; tries < 300; tries += 1) {
    if (await check()) return
    await new Promise((done) => setTimeout(done, 50))
  }
  throw new Error(`never: ${what}`)
}

const statusOf = async (id: string): Promise<string> => (await live.made('GET', `/channels/${id}`)).status

async function reaches(id: string, status: string): Promise<void> {
  let last = ''
  await until(async () => (last = await statusOf(id)) === status, status).catch((error: Error) => {
    throw new Error(`${error.message}; it is ${last}`)
  })
}

const lastRun = (engineId: string) => live.made('GET', `/engines/${engineId}/last-run`)

describe('a channel', () => {
  test('plays two renditions of what an encoder pushes, and leaves nothing behind when it is stopped', async () => {
    const { channelId, engineId, key } = await makeChannel()
    expect((await live.v2('POST', `/channels/${channelId}/start`)).status).toBe(204)
    await reaches(channelId, 'waiting')
    push(key)
    await reaches(channelId, 'playing')
    const folder = join(live.running.dataDir, 'live', engineId)
    for (const [index, size] of [
      ['0', '320x180'],
      ['1', '160x90'],
    ] as const) {
      expect(await probe(join(folder, index, 'index.m3u8'))).toEqual(['aac', `h264 ${size}`])
    }
    await until(async () => existsSync(join(folder, 'thumbnail.jpeg')), 'a thumbnail')
    expect((await live.v2('POST', `/channels/${channelId}/start`)).status).toBe(204)
    expect((await live.v2('DELETE', `/channels/${channelId}`)).json.code).toBe('channel_running')
    expect((await lastRun(engineId)).end).toBeUndefined()

    expect((await live.v2('POST', `/channels/${channelId}/stop`)).status).toBe(204)
    await reaches(channelId, 'stopped')
    expect(existsSync(folder)).toBe(false)
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
  })

  test('waits when its encoder leaves, plays when it is back, and stops by itself without one', async () => {
    const { channelId, engineId, key } = await makeChannel(2)
    await live.v2('POST', `/channels/${channelId}/start`)
    const encoder = push(key)
    await reaches(channelId, 'playing')
    encoder.kill('SIGKILL')
    await reaches(channelId, 'waiting')
    push(key)
    await reaches(channelId, 'playing')
    for (const one of encoders) one.kill('SIGKILL')
    await reaches(channelId, 'stopped')
    expect(await lastRun(engineId)).toMatchObject({ startType: 'api', stopType: 'timeout' })
  })

  test('gives its key to the newest of two encoders, and to nobody after it was rotated', async () => {
    const { channelId, key } = await makeChannel()
    await live.v2('POST', `/channels/${channelId}/start`)
    const first = push(key)
    await reaches(channelId, 'playing')
    const gone = new Promise((done) => first.once('exit', done))
    push(key)
    await gone
    await reaches(channelId, 'playing')
    const [ingest] = (await live.made('GET', `/channels/${channelId}/ingests`)) as { id: string }[]
    await live.made('POST', `/ingests/${ingest?.id}/rotate-key`)
    await reaches(channelId, 'waiting')
    const late = push(key)
    expect(await new Promise((done) => late.once('exit', done))).not.toBe(0)
    await live.v2('POST', `/channels/${channelId}/stop`)
    await reaches(channelId, 'stopped')
  })

  test('without an engine that could work is not started, and says so', async () => {
    const channel = await live.made('POST', '/channels', { name: 'Empty' })
    const answer = await live.v2('POST', `/channels/${channel.id}/start`)
    expect([answer.status, answer.json.code]).toEqual([409, 'engine_not_ready'])
    expect((await live.v2('POST', '/channels/ch_nothing/start')).status).toBe(404)
    expect((await live.v2('POST', `/channels/${channel.id}/stop`)).status).toBe(204)
  })
})

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
    expect(await readdir(join(live.running.dataDir, 'live'))).toEqual([])
  })
})
