import { afterAll, beforeAll, expect, test } from 'vitest'
import { lossyLink, type LossyLink } from '../support/lossyUdp.ts'
import { ownPort } from '../support/ownPort.ts'
import { followsBandwidth, IN_LAYERS, sendsLayers } from './bandwidth.ts'
import type { Peer } from './peer.ts'
import { setStage, type Stage } from './sluice.ts'
import { segmentsListed } from './smoothness.ts'
import { whipPublisher } from './whipPublisher.ts'

const SEED = 20
const ENOUGH = 10

let stage: Stage
let link: LossyLink

beforeAll(async () => {
  const port = await ownPort()
  link = await lossyLink(port, SEED)
  const webrtc = { HOST: '127.0.0.1', PORT: String(port), PROCESSES: '1' }
  const settings = Object.entries(webrtc).map(([name, value]) => [`SLUICE_WEBRTC_${name}`, value])
  stage = await setStage(Object.fromEntries(settings) as Record<string, string>)
})
afterAll(async () => {
  await stage.close()
  link.close()
})

async function farPeer(): Promise<Peer> {
  const peer = await stage.peer()
  await peer.through(link.port)
  return peer
}

/**
 * How often a viewer asked for a keyframe in a stretch with enough losses and repairs in both directions to be
 * significant. It does when a packet is missing for good. Freezes are no measure: a busy machine causes them, too.
 */
async function keyframesAsked(publisher: Peer, viewer: Peer): Promise<number> {
  const look = () => Promise.all([publisher.quality(), viewer.quality(), viewer.figures()])
  const [sent, seen, { frames }] = await look()
  const isEnough = async (): Promise<boolean> => {
    const [up, down, now] = await look()
    const repairs = [
      up.retransmittedPacketsSent - sent.retransmittedPacketsSent,
      down.retransmittedPacketsReceived - seen.retransmittedPacketsReceived,
    ]
    return Math.min(...repairs) >= ENOUGH && now.frames >= frames + 200
  }
  await expect.poll(isEnough).toBe(true)
  const { pliCount, packetsLost } = await viewer.quality()
  expect(packetsLost).toBeGreaterThan(seen.packetsLost)
  return pliCount - seen.pliCount
}

/** A publisher and its viewer, both behind the lossy link. */
async function onAir(codec: string): Promise<[Peer, Peer]> {
  const { token } = await stage.token('publish', { streams: [{ streamName: '.*', isRegex: true }] })
  const [publisher, viewer] = [await farPeer(), await farPeer()]
  expect(await publisher.publish({ url: stage.whip(codec), token, codec, scale: 0.5 })).toBe('ok')
  await viewer.watchSoon({ url: stage.whep(codec) })
  await viewer.plays()
  return [publisher, viewer]
}

const healthOf = async (stream: string) => (await stage.api('GET', `/api/streams/${stream}/health`)).data.feeds[0]
const findingsOf = async (stream: string): Promise<string[]> =>
  (await healthOf(stream)).findings.map(({ code }: { code: string }) => code)

test.each(['vp8', 'h264'])(
  '%s with 3% packet loss in each direction: every lost packet is repaired, in both directions',
  async (codec) => {
    link.lose(0.03)
    const [publisher, viewer] = await onAir(codec)
    expect(await keyframesAsked(publisher, viewer)).toBe(0)
    await expect.poll(() => findingsOf(codec)).toContain('packet_loss')
    const { source, findings } = await healthOf(codec)
    expect(source.audioLevelDb).toBeGreaterThan(-60)
    expect(source.audioLevelDb).toBeLessThan(0)
    expect(source.clippedAudio).toBe(0)
    expect(findings.map(({ code }: { code: string }) => code)).not.toContain('keyframe_requests')
    await Promise.all([publisher.close(), viewer.close()])
  },
)

interface Session {
  id: string
  action: string
  streamName: string
}

/** Open sessions, by action. */
async function sessionsOf(stream: string): Promise<Record<string, string>> {
  const all = (await stage.api('GET', '/api/sessions')).data as Session[]
  return Object.fromEntries(all.filter(({ streamName }) => streamName === stream).map(({ action, id }) => [action, id]))
}

/** Drops all packets until `holds` is true. */
async function away(until: () => Promise<boolean>): Promise<void> {
  link.lose(1)
  await expect.poll(until).toBe(true)
  link.lose(0)
}

test("a network outage longer than the browser's timeout ends the broadcast, and an ICE restart comes too late", async () => {
  link.lose(0)
  const { token } = await stage.token('publish', { streams: [{ streamName: 'tunnel' }], record: true })
  const [publisher, viewer] = [await farPeer(), await stage.peer()]
  expect(await publisher.publish({ url: stage.whip('tunnel'), token, codec: 'vp8', scale: 0.5 })).toBe('ok')
  await viewer.watchSoon({ url: stage.whep('tunnel') })
  await viewer.plays()
  const before = await sessionsOf('tunnel')
  await away(async () => (await publisher.state()) === 'disconnected')
  expect(await publisher.restart('"*"')).toMatchObject({ status: 200 })
  await viewer.plays()
  await expect.poll(() => publisher.state()).toBe('connected')
  expect(await sessionsOf('tunnel')).toEqual(before)
  expect(Object.keys(before).toSorted()).toEqual(['publish', 'view'])
  const recordings = (await stage.api('GET', '/api/recordings?streamName=tunnel')).data as { state: string }[]
  expect(recordings.map(({ state }) => state)).toEqual(['recording'])
  await Promise.all([publisher.stop(), viewer.close()])
}, 120_000)

test('a publisher and a viewer continue from new ports when their router forgets the old ones', async () => {
  link.lose(0)
  const [publisher, viewer] = await onAir('vp8')
  const before = await sessionsOf('vp8')
  for (let times = 0; times < 2; times++) {
    link.rebind()
    await viewer.plays()
  }
  expect(await sessionsOf('vp8')).toEqual(before)
  await Promise.all([publisher.stop(), viewer.close()])
}, 120_000)

test('a publisher such as OBS, which retransmits on the same SSRC: every lost packet is repaired', async () => {
  link.lose(0.03)
  const { token } = await stage.token('publish', { streams: [{ streamName: 'publisher' }] })
  const publisher = await whipPublisher({ url: stage.whip('publisher'), token, through: link.port })
  const viewer = await stage.peer()
  await viewer.watchSoon({ url: stage.whep('publisher') })
  expect((await viewer.plays()).codecs).toEqual(['audio/opus', 'video/H264'])
  const [{ frames }, { pliCount, nackCount }] = [await viewer.figures(), await viewer.quality()]
  await expect.poll(async () => (await viewer.figures()).frames).toBeGreaterThan(frames + 300)
  const later = await viewer.quality()
  expect(later.nackCount).toBeGreaterThan(nackCount)
  expect(later.pliCount).toBe(pliCount)
  expect(await findingsOf('publisher')).not.toContain('keyframe_requests')
  await publisher.stop()
  await viewer.stands()
  await viewer.close()
}, 300_000)

test('a publisher such as OBS, which answers no request for a keyframe, is found when it sends one every ten seconds', async () => {
  link.lose(0)
  const { token } = await stage.token('publish', { streams: [{ streamName: 'rare' }] })
  const publisher = await whipPublisher({ url: stage.whip('rare'), token, through: link.port, gop: 300 })
  // For segments of two seconds Sluice asks all the time.
  const watched = async () => {
    await segmentsListed(stage.hls('rare'))
    return findingsOf('rare')
  }
  await expect.poll(watched).toContain('keyframe_requests')
  expect((await healthOf('rare')).source.keyframeWaitMs).toBeGreaterThan(3000)
  await publisher.stop()
}, 120_000)

test('at low bandwidth a viewer gets the smallest layer, and a larger one again when bandwidth recovers', async () => {
  link.lose(0)
  const { token } = await stage.token('publish', { streams: [{ streamName: 'layers', isRegex: false }] })
  const [publisher, viewer] = [await stage.peer(), await farPeer()]
  expect(await publisher.publish({ url: stage.whip('layers'), token, ...IN_LAYERS })).toBe('ok')
  await sendsLayers(publisher)
  await viewer.watchSoon({ url: stage.whep('layers') })
  await followsBandwidth(viewer, link)
  await Promise.all([publisher.close(), viewer.close()])
}, 300_000)
