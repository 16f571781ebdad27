import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Peer, PeerRequest } from './peer.ts'
import { aiortc, gstreamer, hasAiortc, hasGStreamer, type PythonPeer } from './pythonPeer.ts'
import { setStage, type Stage } from './sluice.ts'

/** Clients of other projects for WHIP and WHEP, as published. */

let stage: Stage
let bundle: string
let token: string
const open: { stop(): unknown }[] = []
const complaints: string[] = []

/** `clients.js` with the packages that it uses, for a page. */
async function bundled(): Promise<string> {
  const entry = fileURLToPath(new URL('clients.js', import.meta.url))
  const lib = { entry, formats: ['iife' as const], name: 'clients' }
  const made = await build({ configFile: false, logLevel: 'error', build: { lib, write: false, minify: false } })
  const [first] = Array.isArray(made) ? made : [made]
  if (first === undefined || !('output' in first)) throw new Error('nothing was bundled')
  return first.output[0].code
}

beforeAll(async () => {
  ;[stage, bundle] = await Promise.all([setStage(), bundled()])
  token = (await stage.token('publish', { streams: [{ streamName: '.*', isRegex: true }] })).token
})
afterEach(async () => {
  for (const one of open.splice(0)) await one.stop()
  expect(complaints.splice(0)).toEqual([])
})
afterAll(() => stage.close())

async function page(): Promise<Peer> {
  const peer = await stage.peer()
  peer.page.removeAllListeners('pageerror')
  peer.page.on('pageerror', (error) => complaints.push(String(error)))
  await peer.page.addScriptTag({ content: bundle })
  open.push({ stop: () => peer.close() })
  return peer
}

/** A page that broadcasts, with the client of this name or else with our own. */
async function broadcast(stream: string, request: Partial<PeerRequest> = {}, client?: string): Promise<Peer> {
  const peer = await page()
  const whole = { url: stage.whip(stream), token, ...request }
  expect(await (client ? peer.foreign(client, whole) : peer.publish(whole))).toBe('ok')
  return peer
}

/** Whether viewers are admitted. The offer is invalid, but Sluice reads it only after the admission. */
async function isOnAir(stream: string): Promise<boolean> {
  const headers = { 'content-type': 'application/sdp' }
  const { status } = await fetch(stage.whep(stream), { method: 'POST', headers, body: 'no offer' })
  return status === 400
}

const sessions = async (): Promise<unknown[]> => (await stage.api('GET', '/api/sessions')).data as unknown[]

function kept(peer: PythonPeer): PythonPeer {
  open.push(peer)
  return peer
}

test.each([
  ['eyevinn', 'vp8'],
  ['medooze', 'h264'],
])('the clients of %s broadcast and watch %s without a complaint, and say goodbye', async (name, codec) => {
  const url = `${stage.whip(name)}?codec=${codec}`
  const publisher = await broadcast(name, { url }, `clients.${name}.publish`)
  await expect.poll(() => isOnAir(name)).toBe(true)
  const viewer = await page()
  await viewer.foreign(`clients.${name}.watch`, { url: stage.whep(name) })
  expect((await viewer.plays()).codecs).toContain(`video/${codec.toUpperCase()}`)
  await Promise.all([viewer.stop(), publisher.stop()])
  // Each of them ended its session with its DELETE, or by closing its connection just before.
  await expect.poll(sessions).toEqual([])
})

describe.skipIf(!hasGStreamer)('webrtcbin of GStreamer', () => {
  test('watches H.264 with caps without a packetization mode', async () => {
    await broadcast('to-gst', { codec: 'h264' })
    await expect.poll(() => isOnAir('to-gst')).toBe(true)
    const viewer = kept(gstreamer('watch', stage.whep('to-gst'), 'h264'))
    expect(await viewer.says('video')).toBeGreaterThan(0)
    expect(await viewer.says('audio')).toBe(48_000)
  })

  test.each(['h264', 'vp8'])('broadcasts %s to a browser', async (codec) => {
    const stream = `gst-${codec}`
    await kept(gstreamer('publish', stage.whip(stream), codec, token)).says('connected')
    const viewer = await page()
    await viewer.watchSoon({ url: stage.whep(stream) })
    expect((await viewer.plays()).codecs).toContain(`video/${codec.toUpperCase()}`)
  })
})

describe.skipIf(!hasAiortc)('aiortc', () => {
  test('broadcasts to a browser, and watches one', async () => {
    await kept(aiortc('publish', stage.whip('snake'), token)).says('connected')
    const viewer = await page()
    await viewer.watchSoon({ url: stage.whep('snake') })
    await viewer.plays()
    await broadcast('film', { codec: 'vp8' })
    await expect.poll(() => isOnAir('film')).toBe(true)
    const watcher = kept(aiortc('watch', stage.whep('film')))
    expect(await watcher.says('video')).toBeGreaterThan(0)
    expect(await watcher.says('audio')).toBe(960)
  })

  test.each(['video', 'audio'] as const)('watches a stream of %s alone with the usual offer of both', async (only) => {
    await broadcast(`${only}-alone`, { only })
    await expect.poll(() => isOnAir(`${only}-alone`)).toBe(true)
    expect(await kept(aiortc('watch', stage.whep(`${only}-alone`))).says(only)).toBeGreaterThan(0)
  })
})
