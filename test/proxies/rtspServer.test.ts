import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, runApp } from '../support/app.ts'
import { ownPort } from '../support/ownPort.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'
import { findFile } from './programs.ts'

const library = (name: string) =>
  findFile(`usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu/${name}`, [
    'gir1.2-gst-rtsp-server-1.0',
    'libgstrtspserver-1.0-0',
  ])
const [typelib, shared] = [library('girepository-1.0/GstRtspServer-1.0.typelib'), library('libgstrtspserver-1.0.so.0')]
const env = {
  ...process.env,
  GI_TYPELIB_PATH: dirname(typelib ?? ''),
  LD_LIBRARY_PATH: dirname(shared ?? ''),
}
const LOADS = "import gi; gi.require_version('GstRtspServer', '1.0'); from gi.repository import GstRtspServer"
const isThere =
  typelib !== null && shared !== null && spawnSync('/usr/bin/python3', ['-c', LOADS], { env }).status === 0
if (!isThere) console.warn("GStreamer's RTSP server is left out: python3-gi or its Debian package cannot be had")

const SCRIPT = join(dirname(fileURLToPath(import.meta.url)), 'rtspServer.py')
const PASSWORD = 's3cret'
let app: RunningApp
let server: ChildProcess
let port: number

async function startServer(): Promise<void> {
  server = spawn('/usr/bin/python3', [SCRIPT, String(port), PASSWORD], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  const failed = once(server, 'exit').then(() => Promise.reject(new Error('the server of GStreamer does not start')))
  await Promise.race([once(server.stdout ?? server, 'data'), failed])
  failed.catch(() => undefined)
}

async function stopServer(): Promise<void> {
  const over = once(server, 'exit')
  server.kill('SIGKILL')
  await over
}

async function pulled(streamName: string, password: string): Promise<number> {
  const { id: tokenId } = await makeToken(app, 'publish')
  const url = `rtsp://viewer:${password}@127.0.0.1:${port}/camera`
  const made = await app.call('POST', '/api/pulls', { tokenId, streamName, url })
  expect(made.status, made.text).toBe(200)
  return made.json.data.id
}

const read = async (id: number) => (await app.call('GET', `/api/pulls/${id}`)).json.data
const codecs = async (streamName: string) => {
  const [stream] = (await app.call('GET', `/api/streams/live?streamName=${streamName}`)).json.data
  return stream?.videoCodec && stream.audioCodec && [stream.videoCodec, stream.audioCodec]
}

describe.skipIf(!isThere)("GStreamer's RTSP server as a camera", () => {
  beforeAll(async () => {
    port = await ownPort()
    app = await runApp({
      flags: { webrtc: { host: '127.0.0.1', port: 0 }, media: { allowedNetworks: ['127.0.0.0/8'] } },
    })
    await startServer()
  })
  afterAll(async () => {
    await app.close()
    await stopServer()
  })

  test('is on the air, and again when it comes back', async () => {
    const id = await pulled('camera', PASSWORD)
    expect(await until(() => codecs('camera'))).toEqual(['h264', 'aac'])
    await stopServer()
    await until(async () => (await read(id)).status === 'waiting')
    await startServer()
    await until(async () => (await read(id)).status === 'live')
    expect(await until(() => codecs('camera'))).toEqual(['h264', 'aac'])
  })

  test('refuses a wrong password, which the pull says', async () => {
    const id = await pulled('wrong', 'another')
    await until(async () => (await read(id)).status === 'refused')
    expect((await read(id)).problem).toBe('The source refuses the user or the password')
  })
})
