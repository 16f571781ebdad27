import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { FlvReader } from '../../src/media/rtmp/flvTags.ts'
import { describeTracks, frameMessage } from '../../src/media/rtmp/flvWriter.ts'
import { MESSAGE } from '../../src/media/rtmp/messages.ts'
import { encoded } from '../media/ffmpeg/frames.ts'
import { enhancedMessages } from '../media/rtmp/enhanced.ts'
import { type RunningApp, runApp } from '../support/app.ts'
import { feedNamed } from '../support/broadcast.ts'
import { ownPort } from '../support/ownPort.ts'
import { RtmpPublisher } from '../support/rtmpPublisher.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'
import { findFile, findProgram } from './programs.ts'

const nginx = findProgram('nginx', ['nginx'])
const rtmpModule = findFile('usr/lib/nginx/modules/ngx_rtmp_module.so', ['libnginx-mod-rtmp'])
if (nginx === null || rtmpModule === null)
  console.warn('nginx-rtmp is left out: it is not installed, and its Debian package cannot be had')

const KEY = 'copy-1'
const dir = mkdtempSync(join(tmpdir(), 'sluice-nginx-rtmp-'))
let app: RunningApp
let server: ChildProcess
let port: number

async function startNginx(): Promise<void> {
  const records = join(dir, 'records')
  mkdirSync(records, { recursive: true, mode: 0o777 })
  const site = `server { listen 127.0.0.1:${port}; chunk_size 4096; application live { live on; record all; record_path ${records}; } }`
  const root = process.getuid?.() === 0 ? 'user root;' : ''
  const whole = `load_module ${rtmpModule}; ${root} daemon off; pid ${dir}/pid; error_log stderr; events {} rtmp { ${site} }`
  writeFileSync(join(dir, 'nginx.conf'), whole)
  server = spawn(nginx?.path ?? '', ['-p', dir, '-c', join(dir, 'nginx.conf')], { env: nginx?.env, stdio: 'ignore' })
  await until(() => isTaken(port))
}

const isTaken = (at: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(at, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })

async function stopNginx(): Promise<void> {
  const over = once(server, 'exit')
  server.kill()
  await over
}

/** The frames of the recording, without what describes them. */
function recorded(type: number): Buffer[] {
  const records = join(dir, 'records')
  const tags = readdirSync(records).flatMap((name) => new FlvReader().push(readFileSync(join(records, name))))
  const frames = tags.filter((tag) => tag.type === type && tag.payload[1] === 1)
  return frames.map(({ payload }) => payload.subarray(type === MESSAGE.video ? 5 : 2))
}

/** Whether frames are those of the source, one after the other. It repeats them. */
function areNext(video: readonly Buffer[], all: readonly Buffer[]): boolean {
  const first = all.findIndex((one) => video[0]?.equals(one))
  return first >= 0 && video.every((one, at) => all[(first + at) % all.length]?.equals(one))
}

/** What is sent to the application, and pulled from it. */
const addressAt = (key: string) => `rtmp://127.0.0.1:${port}/live/${key}`

const status = async (): Promise<string | undefined> =>
  (await app.call('GET', '/api/streams/live')).json.data[0]?.restreams?.[0]?.status

const feedOf = (name: string) => feedNamed(app, name)

/** The next frames of video of a stream, once it is on the air. */
async function videoOf(name: string, count: number): Promise<Buffer[]> {
  const video: Buffer[] = []
  const { media } = await until(() => feedOf(name))
  const leave = media.subscribe({
    tracks: () => undefined,
    frame: ({ kind, data }) => void (kind === 'video' && video.push(Buffer.from(data))),
    end: () => undefined,
  })
  await until(() => video.length >= count)
  leave()
  return video
}

describe.skipIf(nginx === null || rtmpModule === null)('nginx-rtmp', () => {
  beforeAll(async () => {
    port = await ownPort()
    app = await runApp({
      flags: { webrtc: { host: '127.0.0.1', port: 0 }, media: { allowedNetworks: ['127.0.0.0/8'] } },
    })
    await startNginx()
  })
  afterAll(async () => {
    await stopNginx()
    await app.close()
    rmSync(dir, { recursive: true })
  })

  test('as a target records every picture of a broadcast with Opus, and gets it again when it comes back', async () => {
    const restream = [{ url: `rtmp://127.0.0.1:${port}/live`, key: KEY }]
    const { token } = await makeToken(app, 'publish', { restream })
    const show = await encoded({ video: 'h264', audio: 'opus', seconds: 4, gop: 25 })
    const url = `rtmp://127.0.0.1:${app.rtmpPort}/v2/pub/show?token=${token}`
    const sent = show.frames.filter(({ kind }) => kind === 'video').map(({ data }) => Buffer.from(data))
    const publisher = await RtmpPublisher.start(url, systemClock, enhancedMessages(show))
    await until(() => recorded(MESSAGE.video).length > 60 && recorded(MESSAGE.audio).length > 60)
    expect(areNext(recorded(MESSAGE.video), sent)).toBe(true)
    await stopNginx()
    await until(async () => (await status()) === 'waiting')
    rmSync(join(dir, 'records'), { recursive: true })
    await startNginx()
    await until(() => recorded(MESSAGE.video).length > 25)
    expect(areNext(recorded(MESSAGE.video), sent)).toBe(true)
    publisher.end()
    await until(async () => (await status()) === undefined)
  })
  test('as a source is pulled frame by frame, and again when its publisher or the server comes back', async () => {
    const show = await encoded({ video: 'h264', audio: 'aac', seconds: 4, gop: 25 })
    const video = show.frames.filter(({ kind }) => kind === 'video').map(({ data }) => Buffer.from(data))
    // Not enhanced: nginx-rtmp keeps the configurations for those who play later, if it knows the codec.
    const messages = [
      ...describeTracks(show.tracks, 1, 0),
      ...show.frames.map((frame) => {
        const at = { streamId: 1, timestamp: Math.floor(frame.decodeTimeUs / 1000) }
        const { head = Buffer.alloc(0), payload, ...message } = frameMessage(frame, show.tracks, at)
        return { ...message, payload: Buffer.concat([head, payload]) }
      }),
    ]
    const publish = () => RtmpPublisher.start(addressAt('pulled-7'), systemClock, messages)
    const { id: tokenId } = await makeToken(app, 'publish')
    const made = await app.call('POST', '/api/pulls', { tokenId, streamName: 'pulled', url: addressAt('pulled-7') })
    const of = async () => (await app.call('GET', `/api/pulls/${made.json.data.id}`)).json.data
    const first = await publish()
    expect(areNext(await videoOf('pulled', 60), video)).toBe(true)
    expect(await of()).toMatchObject({ status: 'live', url: `rtmp://127.0.0.1:${port}/live/••••` })
    first.end()
    await until(async () => (await of()).status !== 'live')
    const second = await publish()
    expect(areNext(await videoOf('pulled', 30), video)).toBe(true)
    await stopNginx()
    await second.ended
    await until(async () => (await of()).status === 'waiting')
    await startNginx()
    const third = await publish()
    expect(areNext(await videoOf('pulled', 30), video)).toBe(true)
    await app.call('DELETE', `/api/publish_token/${tokenId}`)
    await until(() => feedOf('pulled') === undefined)
    third.end()
  })
})
