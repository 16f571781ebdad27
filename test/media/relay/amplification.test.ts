import { beforeEach, describe, expect, it } from 'vitest'
import { BitrateMeter, type Source } from '../../../src/media/relay/forward/source.ts'
import { Viewer } from '../../../src/media/relay/outbound/viewer.ts'
import {
  type RtcpPacket,
  writeFir,
  writeNack,
  writePli,
  writeReceiverReport,
  writeRemb,
} from '../../../src/media/relay/wire/rtcp/rtcp.ts'
import { addressOf, WireNet, WirePeer } from '../../support/wirePeer.ts'
import { Camera, RecordingSender, MEDIA, downTrackTo } from './parts.ts'

const FRAME_MS = 40
/** A keyframe and the frames after it, in packets; 0.7 Mbit/s. */
const [KEY_PACKETS, PACKETS] = [20, 3]
const KEY_BYTES = KEY_PACKETS * 1150

/** A publisher on the air, and one viewer of it. */
async function onAir() {
  const net = new WireNet()
  const [publisher, viewer] = [new WirePeer(net, addressOf(1)), new WirePeer(net, addressOf(2))]
  publisher.publish(net.relay, 'publisher')
  await publisher.connect()
  publisher.sendFrame(KEY_PACKETS, true)
  viewer.view(net.relay, 'viewer')
  await viewer.connect()
  let [frames, answered] = [0, 0]
  /** Lets the stream go on for so long, with what the viewer does meanwhile. Returns what the viewer was sent, and media of it. */
  const goOn = async (ms: number, act: (passedMs: number) => void = () => undefined) => {
    const before = net.bytesTo(viewer.at)
    let published = 0
    await net.pass(ms, (passed) => {
      if (passed % FRAME_MS === 0) {
        const isKey = publisher.asked > answered || frames++ % 250 === 249
        answered = publisher.asked
        const packets = isKey ? KEY_PACKETS : PACKETS
        publisher.sendFrame(packets, isKey)
        published += packets * 1140
      }
      if (passed % 2000 === 0) for (const transport of [publisher, viewer]) transport.check()
      act(passed)
    })
    return { sent: net.bytesTo(viewer.at) - before, published }
  }
  return { net, publisher, viewer, goOn }
}

describe('a viewer that asks for as much as it can', () => {
  let air: Awaited<ReturnType<typeof onAir>>
  beforeEach(async () => {
    air = await onAir()
    await air.goOn(10_000, (passed) => {
      if (passed % 1000 === 0) air.viewer.sendRtcp(writeReceiverReport(1))
    })
  })

  /** Loss, an estimate that no network has, and all packets of the last seconds, in one datagram each 40 ms. */
  const worst = (viewer: WirePeer, count: { reports: number }) => {
    const [ssrc = 0] = viewer.ssrcs
    const latest = viewer.media.findLast((packet) => packet.readUInt32BE(8) === ssrc)?.readUInt16BE(2) ?? 0
    const all = Array.from({ length: 1900 }, (_, at) => (latest - 1900 + at) & 0xffff)
    const highestSequence = 10_000 + 100 * count.reports
    const packetsLost = 60 * count.reports++
    const lie = {
      ssrc,
      fractionLost: 60,
      packetsLost,
      highestSequence,
      jitter: 0,
      lastReport: 0,
      delaySinceLastReport: 0,
    }
    viewer.sendRtcp(Buffer.concat([writeReceiverReport(1, [lie]), writeRemb(1, 20e9, [ssrc]), writeNack(1, ssrc, all)]))
  }

  it('got many times the rate of the stream, for an estimate and losses that it made up', async () => {
    const count = { reports: 0 }
    const { sent, published } = await air.goOn(10_000, (passed) => {
      if (passed % FRAME_MS === 0) worst(air.viewer, count)
    })
    expect(published).toBeGreaterThan(700_000)
    expect(sent).toBeLessThan(2 * published + KEY_BYTES)
  })

  it('cost all viewers two keyframes each second', async () => {
    const [ssrc = 0] = air.viewer.ssrcs
    const before = air.publisher.asked
    await air.goOn(20_000, () => {
      air.viewer.sendRtcp(Buffer.concat([writeReceiverReport(1), writePli(1, ssrc)]))
      air.viewer.sendRtcp(Buffer.concat([writeReceiverReport(1), writeFir(1, ssrc, 7)]))
    })
    expect(air.publisher.asked - before).toBeGreaterThan(5)
    expect(air.publisher.asked - before).toBeLessThanOrEqual(5 + 10)
  })

  it('is heard 500 times a second, and what it says beyond that is not even opened', async () => {
    const counted = () =>
      air.net.events.reduce(
        (most, event) => (event.kind === 'bytes' && event.sessionId === 'viewer' ? event.bytesIn : most),
        0,
      )
    await air.goOn(2000)
    const before = counted()
    await air.goOn(5000, () => {
      for (let times = 0; times < 50; times++) air.viewer.sendRtcp(writeReceiverReport(1))
    })
    await air.goOn(1000)
    const bytes = 8 + 4 + 16
    expect((counted() - before) / bytes).toBeGreaterThan(5 * 500)
    expect((counted() - before) / bytes).toBeLessThanOrEqual(500 + 6 * 500)
  })

  it('still gets what it lost', async () => {
    const [ssrc = 0, rtx = 0] = air.viewer.ssrcs
    const before = air.viewer.media.length
    await air.goOn(2000, (passed) => {
      const latest = air.net.sentTo(air.viewer.at).findLast((packet) => packet.readUInt32BE(8) === ssrc)
      if (passed % 100 === 0)
        air.viewer.sendRtcp(Buffer.concat([writeReceiverReport(1), writeNack(1, ssrc, [latest?.readUInt16BE(2) ?? 0])]))
    })
    const repairs = air.viewer.media.slice(before).filter((packet) => packet.readUInt32BE(8) === rtx)
    expect(repairs).toHaveLength(20)
  })
})

describe('a viewer of two layers', () => {
  const PACKET = 1100
  const layerOf = (name: string, packetsPerTick: number) => {
    const camera = new Camera(name)
    return { camera, packetsPerTick, layer: { rid: name, track: camera.track, meter: new BitrateMeter(0) } }
  }

  /** Ticks of 20 ms of a publisher of 0.44 and 2.2 Mbit/s, with what the viewer says in each. */
  function watch(seconds: number, says: (nowMs: number, latest: number) => RtcpPacket[]) {
    const sender = new RecordingSender()
    const layers = [layerOf('small', 1), layerOf('large', 5)]
    const transport = { isConnected: true, sendRtcp: () => undefined }
    const viewer = new Viewer({ transport, downTracks: [downTrackTo(sender)], cname: 'c' })
    const source: Source = {
      sessionId: 's',
      sourceId: null,
      audio: null,
      layers: layers.map(({ layer }) => layer),
      profile: null,
    }
    viewer.show(source, 0)
    let published = 0
    for (let nowMs = 20; nowMs <= seconds * 1000; nowMs += 20) {
      for (const { camera, packetsPerTick, layer } of layers) {
        const wasAsked = camera.asked > camera.answered
        for (let sent = 0; sent < packetsPerTick; sent++) camera.send(nowMs, sent === 0 && wasAsked, PACKET)
        camera.answered = camera.asked
        layer.meter.add(packetsPerTick * PACKET)
        layer.meter.tick(nowMs)
      }
      published += 5 * PACKET
      viewer.rtcp(says(nowMs, sender.on(MEDIA).at(-1)?.index ?? 0), nowMs)
      viewer.pace(nowMs)
      if (nowMs % 200 === 0) viewer.tick(nowMs)
    }
    const sent = sender.sent.reduce((sum, { payload }) => sum + payload.length, 0)
    return { sent, published, asked: layers.reduce((sum, { camera }) => sum + camera.asked, 0) }
  }

  const remb = (bitrate: number): RtcpPacket => ({ kind: 'remb', senderSsrc: 1, bitrate, ssrcs: [MEDIA] })
  const nack = (latest: number): RtcpPacket => ({
    kind: 'nack',
    senderSsrc: 1,
    mediaSsrc: MEDIA,
    sequences: Array.from({ length: 300 }, (_, at) => (latest - 299 + at) & 0xffff),
  })

  it('whose estimates swing gets no more than twice what the publisher sends, and asks for few keyframes', () => {
    const { sent, published, asked } = watch(60, (nowMs, latest) => [
      remb(Math.floor(nowMs / 1000) % 2 === 0 ? 1e30 : 1),
      nack(latest),
    ])
    expect(sent).toBeLessThan(2 * published)
    expect(asked).toBeLessThanOrEqual(2 + 2 * (5 + 30))
  })

  it('that claims to receive anything gets the larger layer, probes and repairs included no more than twice of it', () => {
    const { sent, published } = watch(60, (nowMs, latest) => [remb(nowMs < 30_000 ? 1 : 1e30), nack(latest)])
    expect(sent).toBeGreaterThan(published / 2)
    expect(sent).toBeLessThan(2 * published)
  })
})
