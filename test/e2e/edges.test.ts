import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { lossyLink, type LossyLink } from '../support/lossyUdp.ts'
import { metricOf } from '../support/metrics.ts'
import { ownPort } from '../support/ownPort.ts'
import { newPlace, type Place } from '../support/place.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'
import { followsBandwidth, IN_LAYERS, sendsLayers } from './bandwidth.ts'
import type { Peer, PeerRequest } from './peer.ts'
import { aiortc, gstreamer, hasAiortc, hasGStreamer, type PythonPeer } from './pythonPeer.ts'
import { setStage, type Stage } from './sluice.ts'

/** Viewers at a node that has their stream by a link from another one. */

let place: Place
/** Has the publishers. */
let home: Stage
/** Has the viewers. */
let edge: Stage
/** In front of the media port of the edge. */
let network: LossyLink
let token: string
const open: { close(): unknown }[] = []

beforeAll(async () => {
  place = await newPlace('PostgreSQL')
  const mediaPort = await ownPort()
  network = await lossyLink(mediaPort, 30)
  home = await node({})
  edge = await node({ SLUICE_WEBRTC_PORT: String(mediaPort) })
  token = (await home.token('publish', { streams: [{ streamName: '.*', isRegex: true }] })).token
})
afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
})
afterAll(async () => {
  await edge.close()
  await home.close()
  network.close()
  await place.remove()
})

async function node(settings: Record<string, string>): Promise<Stage> {
  const port = String(await ownPort())
  return setStage({
    SLUICE_STORAGE_URL: place.url,
    SLUICE_SECRETS_SEALING_KEY: SEALING_KEY,
    SLUICE_SERVER_PORT: port,
    SLUICE_SERVER_NODE_URL: `http://127.0.0.1:${port}`,
    SLUICE_WEBRTC_PROCESSES: '1',
    ...settings,
  })
}

function tracked<T extends { close(): unknown }>(one: T): T {
  open.push(one)
  return one
}

async function broadcast(stream: string, request: Partial<PeerRequest> = {}): Promise<Peer> {
  const publisher = tracked(await home.peer())
  expect(await publisher.publish({ url: home.whip(stream), token, ...request })).toBe('ok')
  return publisher
}

/** A browser at the edge that plays the stream. */
async function viewerOf(stream: string, through?: number): Promise<Peer> {
  const viewer = tracked(await home.peer())
  if (through !== undefined) await viewer.through(through)
  await viewer.watchSoon({ url: edge.whep(stream) })
  await viewer.plays()
  return viewer
}

/** Streams that come to the edge by links now. */
const borrowed = (): Promise<number> => metricOf(edge.server.url, 'sluice_links{direction="in"}')

async function watched(peer: PythonPeer): Promise<unknown[]> {
  open.push({ close: () => peer.stop() })
  return [await peer.says('video'), await peer.says('audio')]
}

test('Chromium plays a stream of another node, with sound, by one link', async () => {
  await broadcast('film', { codec: 'vp8' })
  const viewers = [await viewerOf('film'), await viewerOf('film')]
  for (const viewer of viewers) expect((await viewer.plays()).codecs).toEqual(['audio/opus', 'video/VP8'])
  expect(await borrowed()).toBe(1)
})

describe.skipIf(!hasAiortc)('aiortc', () => {
  test('plays a stream of another node', async () => {
    await broadcast('snake', { codec: 'vp8' })
    await viewerOf('snake')
    const [width, samples] = await watched(aiortc('watch', edge.whep('snake')))
    expect(width).toBeGreaterThan(0)
    expect(samples).toBe(960)
  })
})

describe.skipIf(!hasGStreamer)('webrtcbin of GStreamer', () => {
  test.each(['h264', 'vp8'])('plays %s of another node', async (codec) => {
    const stream = `gst-${codec}`
    await broadcast(stream, { codec })
    await viewerOf(stream)
    const [width, rate] = await watched(gstreamer('watch', edge.whep(stream), codec))
    expect(width).toBeGreaterThan(0)
    expect(rate).toBe(48_000)
  })
})

test('a viewer of another node gets the smallest layer at low bandwidth, and a larger one again when it recovers', async () => {
  await sendsLayers(await broadcast('layers', IN_LAYERS))
  await followsBandwidth(await viewerOf('layers', network.port), network)
})
