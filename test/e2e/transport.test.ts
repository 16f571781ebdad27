import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { vp8 } from '../../src/media/codecs/vp8.ts'
import { writeRemb } from '../../src/media/relay/wire/rtcp/feedback.ts'
import { parseRtp, payloadOf } from '../../src/media/relay/wire/rtp.ts'
import { socketWire } from '../support/socketWire.ts'
import { addressOf, WirePeer } from '../support/wirePeer.ts'
import type { Peer } from './peer.ts'
import { setStage, type Stage } from './sluice.ts'

let stage: Stage

beforeAll(async () => {
  stage = await setStage()
})
afterAll(() => stage.close())

/** A page that closes with the test, whatever its result: the next test counts sessions. */
async function newPeer(): Promise<Peer> {
  const peer = await stage.peer()
  onTestFinished(() => peer.close())
  return peer
}

async function broadcast(stream: string, request: object = {}) {
  const { token } = await stage.token('publish', { streams: [{ streamName: stream, isRegex: false }] })
  const peer = await newPeer()
  expect(await peer.publish({ url: stage.whip(stream), token, ...request })).toBe('ok')
  return peer
}

async function view(stream: string) {
  const peer = await newPeer()
  await peer.watchSoon({ url: stage.whep(stream) })
  return peer
}

/** A viewer that sends its own bandwidth estimates. Over TCP nothing gets lost, however busy this process is. */
async function scriptedViewer(stream: string): Promise<WirePeer> {
  const wire = socketWire('tcp')
  onTestFinished(() => wire.close())
  const viewer = new WirePeer(wire, addressOf(1))
  const headers = { 'content-type': 'application/sdp' }
  const response = await fetch(stage.whep(stream), { method: 'POST', headers, body: viewer.offer('recvonly') })
  expect(response.status).toBe(201)
  const answer = await response.text()
  viewer.accept({ ok: true, answer, etag: '' })
  await wire.open(answer)
  await viewer.connect()
  return viewer
}

/** Repeats an estimate of `kilobits` per second until the newest keyframe is as expected. */
async function limit(viewer: WirePeer, kilobits: number, isWanted: (width: number) => boolean) {
  await expect
    .poll(() => {
      viewer.sendRtcp(writeRemb(1, kilobits * 1000, []))
      return widths(videoOf(viewer)).at(-1) ?? 0
    })
    .toSatisfy(isWanted)
}

interface Packet {
  sequence: number
  payload: Buffer
}

/** The video of a viewer, without what was sent again. */
const videoOf = ({ media, ssrcs }: WirePeer): Packet[] =>
  media.flatMap((packet) => {
    const header = parseRtp(packet)
    if (header === null || header.ssrc !== ssrcs[0]) return []
    return { sequence: header.sequence, payload: payloadOf(packet, header) }
  })

const widths = (packets: readonly Packet[]): number[] =>
  packets.filter(({ payload }) => vp8.isKeyStart(payload)).map(({ payload }) => vp8.join([payload])?.format?.width ?? 0)

const steps = (numbers: readonly number[], modulus: number): number[] =>
  numbers.slice(1).map((value, at) => (value - (numbers[at] ?? 0) + modulus) % modulus)

/** Chrome's 15-bit frame counter, of each layer by itself (RFC 7741 section 4.2). */
const frameCounterOf = ({ payload }: Packet): number => payload.readUInt16BE(2) & 0x7fff

/** Two layers of a small picture: a browser without enough of the processor drops the larger ones. */
const [SMALLER, LARGER] = [240, 480]
const ENCODINGS = [
  { rid: 'h', scaleResolutionDownBy: LARGER / SMALLER, maxBitrate: 100_000 },
  { rid: 'f', maxBitrate: 500_000 },
]

test('with simulcast each viewer gets the largest layer for its bandwidth, and switches at a keyframe without a gap', async () => {
  const publisher = await broadcast('layers', { codec: 'vp8', scale: LARGER / 1280, encodings: ENCODINGS })
  const watcher = await view('layers')
  await expect.poll(() => publisher.arriving()).toEqual(['f', 'h'])
  await expect.poll(async () => (await watcher.figures()).width).toBe(LARGER)
  const viewer = await scriptedViewer('layers')
  await limit(viewer, 10_000, (width) => width === LARGER)
  await limit(viewer, 160, (width) => width === SMALLER)
  await limit(viewer, 10_000, (width) => width === LARGER)
  const packets = videoOf(viewer)
  const sequences = packets.map(({ sequence }) => sequence)
  expect(new Set(steps(sequences, 0x1_0000))).toEqual(new Set([1]))
  // The widths have shown two switches. The counters of two layers may be one frame apart: then there is no jump between them.
  const jumps = steps(packets.map(frameCounterOf), 0x8000).flatMap((step, at) => (step > 1 ? [packets[at + 1]] : []))
  expect(jumps.every((packet) => packet !== undefined && vp8.isKeyStart(packet.payload))).toBe(true)
  // A browser without enough processor time takes that for congestion; it recovers.
  await expect.poll(async () => (await watcher.figures()).width).toBe(LARGER)
})

test('publisher and viewer restart ICE: video continues with new credentials, and the old tag is refused', async () => {
  const publisher = await broadcast('restart')
  const watcher = await view('restart')
  await watcher.plays()
  for (const peer of [publisher, watcher]) {
    const first = await restarted(peer, '"*"')
    const second = await restarted(peer, first.etag)
    expect(second.etag).not.toBe(first.etag)
    expect(await peer.restart(first.etag)).toEqual({ status: 412 })
    // A browser whose new ports are ready before it has read an answer uses the credentials from before that restart.
    await expect.poll(() => peer.remoteUfrag()).toSatisfy((used) => [first, second].some(({ ufrag }) => ufrag === used))
    await watcher.plays()
  }
})

async function restarted(peer: Peer, tag: string): Promise<{ etag: string; ufrag: string }> {
  const granted = await peer.restart(tag)
  expect(granted).toMatchObject({ status: 200, etag: expect.stringMatching(/^".+"$/) as string })
  return { etag: granted.etag ?? '', ufrag: granted.ufrag ?? '' }
}

test('the reports have what a browser had received when it left', async () => {
  const publisher = await broadcast('counted', { scale: 0.25 })
  const watcher = await view('counted')
  await watcher.plays()
  const { bytes } = await watcher.figures()
  await watcher.stop()
  await publisher.stop()
  await expect.poll(async () => (await stage.api('GET', '/api/sessions')).data).toEqual([])
  const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
  const report = `/api/analytics/streams/total?startDate=${day(-1)}&stopDate=${day(1)}&streamNames=counted`
  const { counted } = (await stage.api('GET', report)).data as Record<string, { bytesIn: number; bytesOut: number }>
  expect(bytes).toBeGreaterThan(0)
  expect(counted?.bytesOut).toBeGreaterThanOrEqual(bytes)
})
