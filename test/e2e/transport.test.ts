import { ReceiverEstimatedMaxBitrate, RtcpPayloadSpecificFeedback, type RtpPacket } from 'werift'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { vp8 } from '../../src/media/codecs/vp8.ts'
import { TestViewer } from '../support/rtcPeer.ts'
import { LAYERS, SMALLEST } from './layers.ts'
import type { Peer } from './peer.ts'
import { setStage, type Stage } from './sluice.ts'

let stage: Stage

beforeAll(async () => {
  stage = await setStage()
})
afterAll(() => stage.close())

const SOON = { timeout: 60_000, interval: 100 }

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

/** A viewer that sends its own bandwidth estimates. */
async function scriptedViewer(stream: string): Promise<TestViewer> {
  const viewer = new TestViewer('vp8')
  const headers = { 'content-type': 'application/sdp' }
  const response = await fetch(stage.whep(stream), { method: 'POST', headers, body: await viewer.offer() })
  expect(response.status).toBe(201)
  await viewer.accept(await response.text())
  return viewer
}

/** Repeats an estimate of `kilobits` per second until the newest keyframe is as expected. */
async function limit({ pc, packets }: TestViewer, kilobits: number, isWanted: (width: number) => boolean) {
  const feedback = new ReceiverEstimatedMaxBitrate({ senderSsrc: 1, ssrcNum: 0, brExp: 10, brMantissa: kilobits })
  await expect
    .poll(async () => {
      await pc.dtlsTransports[0]?.sendRtcp([new RtcpPayloadSpecificFeedback({ feedback })])
      return widths(packets).at(-1) ?? 0
    }, SOON)
    .toSatisfy(isWanted)
}

const widths = (packets: readonly RtpPacket[]): number[] =>
  packets.filter(({ payload }) => vp8.isKeyStart(payload)).map(({ payload }) => vp8.join([payload])?.format?.width ?? 0)

const steps = (numbers: readonly number[], modulus: number): number[] =>
  numbers.slice(1).map((value, at) => (value - (numbers[at] ?? 0) + modulus) % modulus)

/** Chrome's 15-bit frame counter, with a different start for each layer (RFC 7741 section 4.2). */
const frameCounterOf = ({ payload }: RtpPacket): number => payload.readUInt16BE(2) & 0x7fff

test('with simulcast each viewer gets the largest layer for its bandwidth, and switches at a keyframe without a gap', async () => {
  const publisher = await broadcast('layers', { codec: 'vp8', scale: 0.75, encodings: LAYERS })
  const watcher = await view('layers')
  // On a busy machine the browser disables its largest layer; two are enough for a choice.
  await expect.poll(async () => (await publisher.arriving()).length, SOON).toBeGreaterThanOrEqual(2)
  await expect.poll(async () => (await watcher.figures()).width, SOON).toBeGreaterThan(SMALLEST)
  const viewer = await scriptedViewer('layers')
  await limit(viewer, 10_000, (width) => width > SMALLEST)
  await limit(viewer, 160, (width) => width === SMALLEST)
  await limit(viewer, 10_000, (width) => width > SMALLEST)
  const packets = [...viewer.packets]
  expect(
    new Set(
      steps(
        packets.map(({ header }) => header.sequenceNumber),
        0x1_0000,
      ),
    ),
  ).toEqual(new Set([1]))
  const jumps = steps(packets.map(frameCounterOf), 0x8000).flatMap((step, at) => (step > 1 ? [packets[at + 1]] : []))
  expect(jumps.length).toBeGreaterThanOrEqual(2)
  expect(jumps.every((packet) => packet !== undefined && vp8.isKeyStart(packet.payload))).toBe(true)
  // A browser without enough processor time takes that for congestion; it recovers.
  await expect.poll(async () => (await watcher.figures()).width, { timeout: 60_000 }).toBeGreaterThan(SMALLEST)
  await viewer.close()
}, 300_000)

/**
 * The entity-tag after a restart whose credentials are in use. A browser whose new ports were ready before it had read
 * the answer may stay with the old ones, so the restart is repeated.
 */
async function restarted(peer: Peer, tag: string, tries = 5): Promise<string> {
  const granted = await peer.restart(tag)
  expect(granted).toMatchObject({ status: 200, etag: expect.stringMatching(/^".+"$/) as string })
  const { etag = '', ufrag } = granted
  const isInUse = vi.waitUntil(async () => (await peer.remoteUfrag()) === ufrag, { timeout: 4000, interval: 100 })
  if (await isInUse.catch(() => false)) return etag
  if (tries === 1) throw new Error(`${ufrag} was granted, and ${await peer.remoteUfrag()} is in use`)
  return restarted(peer, etag, tries - 1)
}

test('publisher and viewer restart ICE: video continues with the new credentials, and the old tag is refused', async () => {
  const publisher = await broadcast('restart')
  const watcher = await view('restart')
  await watcher.plays()
  for (const peer of [publisher, watcher]) {
    const first = await restarted(peer, '"*"')
    const second = await restarted(peer, first)
    expect(second).not.toBe(first)
    expect(await peer.restart(first)).toEqual({ status: 412 })
    await watcher.plays()
  }
})

test('the reports agree within 2% with the transport statistics of the browsers', async ({ task }) => {
  // A second try does not count what the first one did.
  const name = `counted${task.result?.retryCount ?? 0}`
  const publisher = await broadcast(name, { scale: 0.75 })
  const watcher = await view(name)
  // Enough, so that what is under way when the statistics are read is far below 2%.
  await expect.poll(async () => (await watcher.figures()).bytes, SOON).toBeGreaterThan(1_000_000)
  const down = await watcher.carried()
  const up = await publisher.carried()
  await expect.poll(async () => (await stage.api('GET', '/api/sessions')).data, SOON).toEqual([])
  const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
  const report = `/api/analytics/streams/total?startDate=${day(-1)}&stopDate=${day(1)}&streamNames=${name}`
  const total = (await stage.api('GET', report)).data as Record<string, { bytesIn: number; bytesOut: number }>
  const counted = total[name] ?? { bytesIn: 0, bytesOut: 0 }
  expectWithin2Percent(counted.bytesIn, up.bytesSent + down.bytesSent)
  expectWithin2Percent(counted.bytesOut, up.bytesReceived + down.bytesReceived)
})

function expectWithin2Percent(counted: number, carried: number): void {
  expect(counted / carried).toBeGreaterThan(0.98)
  expect(counted / carried).toBeLessThan(1.02)
}
