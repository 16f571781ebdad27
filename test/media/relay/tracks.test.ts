import { describe, expect, it } from 'vitest'
import { vp8 } from '../../../src/media/codecs/vp8.ts'
import { PacketRing, PayloadMemory } from '../../../src/media/relay/forward/packet.ts'
import { RtpTrack } from '../../../src/media/relay/forward/rtpTrack.ts'
import { RtpReceiver } from '../../../src/media/relay/inbound/rtpReceiver.ts'
import { Camera, downTrackTo, MEDIA, RecordingSender, REPAIR } from './parts.ts'

describe('the cache of a track', () => {
  it('has the packets since the last keyframe, if they are less than a thousand', () => {
    const camera = new Camera('a')
    expect([camera.track.sinceKeyframe(), camera.track.keyAgeMs(5)]).toEqual([[], Number.POSITIVE_INFINITY])
    camera.send(0)
    expect([camera.track.sinceKeyframe(), camera.track.last?.index]).toEqual([[], 1000])
    camera.send(100, true)
    for (let n = 1; n < 999; n += 1) camera.send(100 + n)
    expect([camera.track.sinceKeyframe().length, camera.track.keyAgeMs(1100)]).toEqual([999, 1000])
    camera.lose()
    camera.send(1100)
    expect(camera.track.sinceKeyframe()).toEqual([])
    camera.send(1200, true)
    expect(camera.track.sinceKeyframe()).toHaveLength(1)
  })

  it('begins a keyframe with its first packet, in whatever order they come', () => {
    const { track } = new Camera('a')
    const part = (index: number, timestamp: number) => ({
      ssrc: 1,
      index,
      timestamp,
      marker: false,
      payload: Buffer.from([index]),
      isKeyStart: true,
    })
    const begins = () => track.sinceKeyframe()[0]?.index
    track.take(part(10, 90), 100)
    track.take(part(11, 90), 110)
    expect([begins(), track.keyAgeMs(110)]).toEqual([10, 10])
    track.take(part(9, 90), 120)
    expect([begins(), track.keyAgeMs(120)]).toEqual([9, 0])
    track.take(part(7, 45), 130)
    expect(begins()).toBe(9)
    track.take(part(12, 180), 140)
    expect([begins(), track.keyAgeMs(150)]).toEqual([12, 10])
  })

  it('has as many packets as its ring, and the last one is the newest', () => {
    const ring = new PacketRing(4)
    const packet = (index: number) => ({
      index,
      timestamp: 0,
      marker: false,
      payload: Buffer.alloc(0),
      isKeyStart: false,
    })
    for (const index of [0, 1, 2, 3, 4, 6]) ring.put(packet(index))
    expect([0, 1, 2, 3, 4, 5, 6].map((index) => ring.get(index)?.index)).toEqual([
      undefined,
      1,
      undefined,
      3,
      4,
      undefined,
      6,
    ])
    expect(
      [ring.range(0, 6), ring.range(4, 5), ring.range(6, 6), ring.range(6, 5)].map((all) =>
        all.map(({ index }) => index),
      ),
    ).toEqual([[3, 4, 6], [4], [6], []])
  })

  it('keeps payloads together, and one that is too large on its own', () => {
    const memory = new PayloadMemory()
    const [a, b, c, d] = [8000, 8384, 1, 20_000].map((bytes) => memory.keep(Buffer.alloc(bytes, bytes % 251)))
    expect([a?.buffer === b?.buffer, b?.buffer === c?.buffer, c?.buffer === d?.buffer]).toEqual([true, false, false])
    expect([a, b, c, d].map((one) => one?.length)).toEqual([8000, 8384, 1, 20_000])
    expect([a?.[7999], b?.[0], c?.[0], d?.[19_999]]).toEqual([8000 % 251, 8384 % 251, 1, 20_000 % 251])
  })

  it('continues with a new SSRC after the last packet, in number and in time', () => {
    const { track } = new Camera('a')
    const raw = (ssrc: number, index: number, timestamp: number) => ({
      ssrc,
      index,
      timestamp,
      marker: true,
      payload: Buffer.alloc(1),
      isKeyStart: false,
    })
    track.take(raw(1, 100, 9000), 1000)
    track.take(raw(1, 105, 9450), 1005)
    track.take(raw(1, 102, 9180), 1006)
    expect([track.last?.index, track.ssrc, track.ownTimestamp(5)]).toEqual([105, 1, 5])
    track.take(raw(2, 7, 0xffffffff), 1016)
    expect([track.last?.index, track.last?.timestamp, track.ssrc]).toEqual([106, 9450 + 900, 2])
    expect(track.ownTimestamp(0)).toBe(9450 + 901)
    track.take(raw(2, 6, 0), 1016)
    // Number 103 was lost, and is not given to a packet of another stream.
    track.take(raw(2, 4, 0), 1016)
    expect(track.packet(103)).toBeUndefined()
    expect(track.packet(105)?.timestamp).toBe(9450)
    track.take(raw(3, 7, 77), 1016)
    expect([track.last?.index, track.last?.timestamp]).toEqual([107, 9450 + 901])
  })

  it('of audio is never asked for a keyframe, and tells whether video is', () => {
    let asked = 0
    const audio = new RtpTrack({ kind: 'audio', codec: 'opus', rate: 48_000 }, () => void (asked += 1))
    audio.requestKeyframe(1000)
    audio.tick(2000)
    expect([asked, audio.isAskable]).toEqual([0, true])
    const mute = new Camera('a', { canBeAsked: false })
    mute.track.requestKeyframe(1000)
    expect(mute.track.isAskable).toBe(false)
    const camera = new Camera('a')
    camera.track.tick(1000)
    expect(camera.asked).toBe(0)
    camera.track.requestKeyframe(1000)
    camera.track.requestKeyframe(1499)
    expect(camera.asked).toBe(1)
    camera.track.requestKeyframe(1500)
    expect(camera.asked).toBe(2)
    let seen = 0
    const stop = camera.track.listen(() => void (seen += 1))
    camera.send(2000, true)
    stop()
    camera.send(2100)
    camera.track.tick(3000)
    expect([seen, camera.asked]).toEqual([1, 2])
  })
})

describe('the stream of a viewer', () => {
  const viewerOf = (over = {}) => {
    const sender = new RecordingSender()
    return { sender, downTrack: downTrackTo(sender, over) }
  }

  it('begins with a fresh keyframe of the cache, and else with the next one', () => {
    for (const [ageMs, count] of [
      [1000, 2],
      [1001, 0],
    ] as const) {
      const camera = new Camera('a')
      camera.send(0, true)
      camera.send(500)
      const { sender, downTrack } = viewerOf()
      expect(downTrack.attach(camera.track, ageMs)).toBe(true)
      expect([
        sender.sent.length,
        camera.asked,
        downTrack.track === camera.track,
        downTrack.nextTrack === camera.track,
      ]).toEqual([count, count === 0 ? 1 : 0, count > 0, count === 0])
      camera.send(1100)
      camera.send(1200, true)
      camera.send(1300)
      expect(sender.sent.map(({ index }) => index)).toEqual(
        Array.from({ length: count === 0 ? 2 : 5 }, (_, n) => 100 + n),
      )
      expect(sender.sent.every(({ ssrc, payloadType }) => ssrc === MEDIA && payloadType === 96)).toBe(true)
    }
  })

  it('catches up sixty packets at a time, and with all of them after a second', () => {
    const camera = new Camera('a')
    camera.send(0, true)
    for (let n = 1; n < 200; n += 1) camera.send(n)
    const { sender, downTrack } = viewerOf()
    downTrack.attach(camera.track, 500)
    const counts = [520, 540, 1499, 1500].map((nowMs) => {
      const before = sender.sent.length
      downTrack.pace(nowMs)
      return [before, sender.sent.length]
    })
    expect(counts).toEqual([
      [60, 120],
      [120, 180],
      [180, 200],
      [200, 200],
    ])
    camera.send(1600)
    expect(sender.sent).toHaveLength(201)
    const late = viewerOf()
    late.downTrack.attach(camera.track, 900)
    expect(late.sender.sent).toHaveLength(60)
    late.downTrack.pace(1900)
    expect(late.sender.sent).toHaveLength(201)
  })

  it('says what it sent in its reports, and nothing while it sends nothing', () => {
    const camera = new Camera('a')
    const { downTrack } = viewerOf()
    expect(downTrack.report(0)).toBeNull()
    camera.send(1000, true, 100)
    downTrack.attach(camera.track, 1000)
    camera.send(1040, false, 50)
    expect(downTrack.report(1050)).toMatchObject({
      ssrc: MEDIA,
      packetCount: 2,
      octetCount: 150,
      rtpTimestamp: 1050 * 90,
    })
    downTrack.detach()
    expect([downTrack.report(1060), downTrack.track]).toEqual([null, null])
    camera.send(1080)
    expect(downTrack.pad(1000)).toBe(0)
  })

  it('goes on with another source in number and in time, and never back', () => {
    const [a, b] = [new Camera('a'), new Camera('b', { ssrc: 2, firstIndex: 50_000 })]
    const { sender, downTrack } = viewerOf()
    a.send(1000, true)
    downTrack.attach(a.track, 1000)
    expect(downTrack.attach(b.track, 1010)).toBe(true)
    expect([downTrack.track === a.track, downTrack.nextTrack === b.track, b.asked]).toEqual([true, true, 1])
    expect([downTrack.attach(b.track, 1010), b.asked]).toEqual([true, 1])
    a.send(1040)
    b.send(1060)
    b.send(1080, true)
    a.send(1080)
    b.send(1120)
    expect(sender.sent.map(({ index, timestamp, payload }) => [index, timestamp / 90, payload[0]])).toEqual([
      [100, 1000, 'a'],
      [101, 1040, 'a'],
      [102, 1080, 'b'],
      [103, 1120, 'b'],
    ])
    expect(downTrack.report(1130)?.rtpTimestamp).toBe(1130 * 90)
    // Back at the first one in the same moment: the time of a viewer does not stand still.
    downTrack.attach(a.track, 1120)
    a.send(1120, true)
    expect(sender.sent.at(-1)?.index).toBe(104)
    expect((sender.sent.at(-1)?.timestamp ?? 0) - (sender.sent.at(-2)?.timestamp ?? 0)).toBe(1)
    downTrack.attach(b.track, 1130)
    downTrack.attach(a.track, 1130)
    expect(downTrack.nextTrack).toBeNull()
    const opus = new RtpTrack({ kind: 'audio', codec: 'opus', rate: 48_000 }, null)
    expect(downTrack.attach(opus, 1130)).toBe(false)
    b.send(1200, true)
    expect(sender.sent.at(-1)?.payload[0]).toBe('a')
  })

  it('is repaired on its own stream, once in thirty milliseconds, and not from before its source', () => {
    const camera = new Camera('a')
    const { sender, downTrack } = viewerOf()
    camera.send(0, true)
    camera.send(10)
    downTrack.attach(camera.track, 20)
    camera.send(30)
    const repaired = () =>
      sender
        .on(REPAIR)
        .splice(0)
        .map(({ index, payload, payloadType }) => [
          index,
          payload.charCodeAt(0) * 256 + payload.charCodeAt(1),
          payloadType,
        ])
    downTrack.resend([101], 1000)
    downTrack.resend([101], 1029)
    expect(repaired()).toEqual([[100, 101, 97]])
    downTrack.resend([101, 102, 103, 99, 100], 1030)
    expect(repaired()).toEqual([
      [100, 101, 97],
      [101, 101, 97],
      [102, 102, 97],
      [103, 100, 97],
    ])
    downTrack.repeatResends({ copies: 2 })
    downTrack.resend([102], 2000)
    expect(repaired().slice(4)).toEqual([
      [104, 102, 97],
      [105, 102, 97],
    ])
    downTrack.repeatResends({ copies: 1 })
    downTrack.resend([102], 3000)
    expect(repaired()).toHaveLength(7)
  })

  it('is repaired in place without a stream for repairs, and is never padded then', () => {
    const camera = new Camera('a')
    const { sender, downTrack } = viewerOf({ rtx: false })
    camera.send(0, true)
    downTrack.attach(camera.track, 20)
    downTrack.repeatResends({ copies: 2 })
    downTrack.resend([100], 1000)
    expect(sender.sent.map(({ ssrc, index, payloadType }) => [ssrc, index, payloadType])).toEqual([
      [MEDIA, 100, 96],
      [MEDIA, 100, 96],
    ])
    expect([downTrack.pad(500), sender.sent.length]).toEqual([0, 2])
  })

  it('is padded with its last packet, and by fifty packets at most', () => {
    const camera = new Camera('a')
    const { sender, downTrack } = viewerOf()
    expect(downTrack.pad(500)).toBe(0)
    camera.send(0, true, 936)
    downTrack.attach(camera.track, 20)
    expect([downTrack.pad(1000), sender.on(REPAIR).length]).toEqual([1000, 1])
    expect([downTrack.pad(1001), sender.on(REPAIR).length]).toEqual([2000, 3])
    expect([downTrack.pad(0), downTrack.pad(1e9)]).toEqual([0, 50_000])
  })

  it('is repaired from half of what was sent, and small packets cost as much as larger ones', () => {
    const camera = new Camera('a')
    const { sender, downTrack } = viewerOf()
    camera.send(0, true, 936)
    downTrack.attach(camera.track, 20)
    // 48,000 bytes to begin with, at 1,000 a packet, and what the first packet earns.
    for (let n = 0; n < 100; n += 1) downTrack.resend([100], 1000 + n * 40)
    expect(sender.on(REPAIR)).toHaveLength(48)
    for (let n = 0; n < 20; n += 1) camera.send(6000 + n, false, 36)
    for (let n = 0; n < 100; n += 1) downTrack.resend([120], 7000 + n * 40)
    expect(sender.on(REPAIR).length - 48).toBe(10)
  })
})

describe('the report on a stream of a publisher', () => {
  const arrival = (index: number, timestamp = index * 3600) => ({
    index,
    timestamp,
    marker: true,
    payload: Buffer.from([0x10, 1, 0, 0]),
  })
  const receiving = (rate = 90_000) => {
    const { track } = new Camera('a')
    return new RtpReceiver(5, rate === 90_000 ? track : new RtpTrack({ kind: 'video', codec: 'vp8', rate }, null), vp8)
  }

  it('counts what was expected and what came, since the last one and in all', () => {
    const receiver = receiving()
    for (const index of [10, 11, 12, 14]) receiver.take(arrival(index), 0)
    expect(receiver.report(0)).toMatchObject({ fractionLost: Math.floor(256 / 5), packetsLost: 1, highestSequence: 14 })
    expect(receiver.report(0)).toMatchObject({ fractionLost: 0, packetsLost: 1 })
    receiver.take(arrival(13), 0)
    expect(receiver.report(0)).toMatchObject({ fractionLost: 0, packetsLost: 0 })
    for (const index of [15, 15]) receiver.take(arrival(index), 0)
    expect(receiver.report(0)).toMatchObject({ fractionLost: 0, packetsLost: -1 })
    receiver.take(arrival(1015), 0)
    expect(receiver.report(0)).toMatchObject({ fractionLost: 255, packetsLost: 998 })
  })

  it('says how long ago the sender reported', () => {
    const receiver = receiving()
    receiver.reported(77, 1000)
    expect(receiver.report(1500)).toMatchObject({ lastReport: 77, delaySinceLastReport: 32_768 })
  })

  it('has the jitter of RFC 3550: a sixteenth of each change of the transit time', () => {
    const receiver = receiving(1000)
    const jitterAfter = (index: number, timestamp: number, nowMs: number) => {
      receiver.take(arrival(index, timestamp), nowMs)
      return receiver.report(nowMs).jitter
    }
    expect([
      jitterAfter(1, 0, 5000),
      jitterAfter(2, 20, 5020),
      jitterAfter(3, 40, 5200),
      jitterAfter(4, 60, 5060),
    ]).toEqual([0, 0, 10, 19])
  })
})
