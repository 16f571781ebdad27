import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { TrackInfo } from '../../../src/media/frame.ts'
import { createJsFanout } from '../../../src/media/relay/forward/fanout.ts'
import type { MediaPacket } from '../../../src/media/relay/forward/packet.ts'
import { Publisher } from '../../../src/media/relay/inbound/publisher.ts'
import { negotiatePublish } from '../../../src/media/relay/negotiation.ts'
import { middleOf, ntpOf } from '../../../src/media/relay/wire/ntp.ts'
import { parseRtcp, type RtcpPacket } from '../../../src/media/relay/wire/rtcp/rtcp.ts'
import { writeRtp } from '../../support/rtpPackets.ts'
import { fatesOf, transportFeedbackIn } from '../../support/transportFeedback.ts'

/** VP8 in three layers: payload type 96, RTX 97. */
const OFFER = readFileSync(new URL('wire/offers/browser-simulcast.sdp', import.meta.url), 'utf8')
/** Audio and one layer of video. Opus is 111. */
const PLAIN_OFFER = readFileSync(new URL('wire/offers/browser-publish.sdp', import.meta.url), 'utf8')
const OPUS = 111
const [VP8, RTX] = [96, 97]
const [TRANSPORT_CC, RID, REPAIRED_RID] = [4, 10, 11]
const START_MS = 1_750_000_000_000
const MAX_BITRATE = 2_500_000

interface Sent {
  readonly ssrc: number
  readonly index: number
  readonly rid?: string
  readonly repairedRid?: string
  readonly transportSequence?: number
  readonly payloadType?: number
  readonly payload?: Buffer
  readonly nowMs?: number
  readonly timestamp?: number
}

/** The start of a VP8 keyframe or of another frame (RFC 7741, RFC 6386 section 9.1). */
const vp8 = (isKey: boolean): Buffer =>
  Buffer.from([0x10, isKey ? 0x10 : 0x11, 0, 0, 0x9d, 0x01, 0x2a, 0x80, 0x02, 0xe0, 0x01])

function publishing({ offer = OFFER, codec = 'vp8' }: { offer?: string; codec?: string | null } = {}) {
  const agreed = negotiatePublish(offer, codec)
  if (!agreed.ok) throw new Error('refused')
  const sent: Buffer[] = []
  const reported: (readonly TrackInfo[])[] = []
  const publisher = new Publisher(
    {
      sessionId: 'p',
      sourceId: null,
      transport: { sendRtcp: (...packets) => void sent.push(Buffer.concat(packets)) },
      lines: agreed.value.lines,
      createFanout: createJsFanout,
      maxBitrate: MAX_BITRATE,
      tracks: (tracks) => reported.push(tracks),
    },
    START_MS,
  )
  const send = ({
    ssrc,
    index,
    payloadType = VP8,
    payload = vp8(false),
    nowMs = START_MS,
    timestamp = index * 3600,
    ...ids
  }: Sent): void => {
    const text = (id: number, value: string | undefined) =>
      value === undefined ? [] : [{ id, value: Buffer.from(value) }]
    const sequence = Buffer.alloc(2)
    sequence.writeUInt16BE(ids.transportSequence ?? 0)
    const extensions = [
      ...text(RID, ids.rid),
      ...text(REPAIRED_RID, ids.repairedRid),
      ...(ids.transportSequence === undefined ? [] : [{ id: TRANSPORT_CC, value: sequence }]),
    ]
    const fields = { marker: true, payloadType, sequence: index & 0xffff, timestamp, ssrc }
    publisher.rtp(writeRtp(fields, payload, extensions), index, nowMs)
  }
  /** What it was sent since the last call, but for receiver reports without a block. */
  const feedback = (): RtcpPacket[] =>
    sent
      .splice(0)
      .flatMap((compound) => parseRtcp(compound) ?? [])
      .filter((packet) => packet.kind !== 'rr' || packet.reports.length > 0)
  const passed = (rid: string): MediaPacket[] => {
    const packets: MediaPacket[] = []
    publisher.source.layers.find((layer) => layer.rid === rid)?.track.listen((packet) => packets.push(packet))
    return packets
  }
  return { publisher, send, feedback, passed, reported, sent }
}

describe('a publisher', () => {
  it('that does not answer requests for a keyframe is measured while its packets come, for a minute', () => {
    const { publisher, send } = publishing()
    const [layer] = publisher.source.layers
    let index = 10
    /** Frames of 25 a second. */
    const pass = (fromMs: number, untilMs: number, keyMs = 0): void => {
      for (let nowMs = START_MS + fromMs; nowMs < START_MS + untilMs; nowMs += 40) {
        send({ ssrc: 1, index: index++, rid: 'h', payload: vp8(nowMs === START_MS + keyMs), nowMs })
        publisher.pace(nowMs)
      }
    }
    const waitMs = () => publisher.reading().keyframeWaitMs ?? -1
    pass(0, 2000)
    expect(waitMs()).toBe(0)
    layer?.track.requestKeyframe(START_MS + 2000)
    pass(2000, 10_000)
    expect(waitMs()).toBeGreaterThan(6900)
    // While nothing comes, nothing can be answered.
    for (let ms = 10_000; ms < 15_000; ms += 40) publisher.pace(START_MS + ms)
    pass(15_000, 17_000, 15_040)
    expect(waitMs()).toBeLessThan(8000)
    layer?.track.requestKeyframe(START_MS + 17_000)
    pass(17_000, 60_000, 17_080)
    expect(waitMs()).toBeGreaterThan(6900)
    pass(60_000, 80_000)
    expect(waitMs()).toBeLessThan(1000)
  })

  it('reports its tracks once it is connected', () => {
    const { publisher, reported } = publishing()
    expect(reported).toEqual([])
    publisher.start()
    expect(reported).toEqual([[expect.objectContaining({ kind: 'video', codec: 'vp8' })]])
  })

  it('reports the size of its largest layer once it is known, and again when it changes; and counts frames', () => {
    const { publisher, send, reported } = publishing()
    publisher.start()
    const sized = (width: number): Buffer => {
      const payload = vp8(true)
      payload.writeUInt16LE(width, 7)
      return payload
    }
    const sizes = () => reported.map((tracks) => tracks.map((track) => (track.kind === 'video' ? track.width : 0)))
    send({ ssrc: 1, index: 10, rid: 'h' })
    publisher.pace(START_MS + 1000)
    expect(sizes()).toEqual([[0]])
    send({ ssrc: 1, index: 11, payload: sized(1280), nowMs: START_MS + 1000 })
    send({ ssrc: 2, index: 20, rid: 'l', payload: sized(320), nowMs: START_MS + 1000 })
    publisher.pace(START_MS + 2000)
    publisher.pace(START_MS + 3000)
    expect(sizes()).toEqual([[0], [1280]])
    expect(publisher.frames).toBe(2)
    send({ ssrc: 1, index: 12, payload: sized(640), nowMs: START_MS + 4000 })
    publisher.pace(START_MS + 5000)
    expect(sizes()).toEqual([[0], [1280]])
    send({ ssrc: 1, index: 12, nowMs: START_MS + 12_000 })
    publisher.pace(START_MS + 12_000)
    expect(sizes()).toEqual([[0], [1280], [640]])
    // A packet without payload probes the bandwidth, and a repeated one is no frame.
    send({ ssrc: 1, index: 13, payload: Buffer.alloc(0) })
    send({ ssrc: 1, index: 12 })
    expect(publisher.frames).toBe(3)
  })

  it('is measured: frames of its largest layer, keyframes, order, losses, and layers', () => {
    const { publisher, send } = publishing()
    let nowMs = START_MS
    for (let at = 0; at < 250; at += 1) {
      nowMs = START_MS + at * 40
      // One in ten is missing.
      if (at % 10 !== 9) send({ ssrc: 1, index: at, rid: 'h', payload: vp8(at % 50 === 0), nowMs })
      send({ ssrc: 2, index: at, rid: 'l', payload: vp8(at % 50 === 0).subarray(0, 8), nowMs })
      if (at % 25 === 24) publisher.pace(nowMs)
    }
    const reading = publisher.reading()
    expect(reading).toMatchObject({ keyframeMs: 2000, longestKeyframeMs: 2000, bFrames: 0, layers: 2, clockJumps: 0 })
    expect(reading.packetLoss).toBeCloseTo(0.05, 2)
    expect(reading.sentFrameRate).toBeGreaterThan(20)
    expect(reading).not.toHaveProperty('roundTripMs')
  })

  it('that sends pictures out of order is measured to have B-frames', () => {
    const { publisher, send } = publishing({ offer: PLAIN_OFFER })
    const order = [0, 2, 1, 4, 3]
    for (let at = 0; at < 100; at += 1) {
      const shown = Math.floor(at / 5) * 5 + (order[at % 5] ?? 0)
      const fields = { ssrc: 1, index: at, timestamp: shown * 3600, payload: vp8(at === 0), nowMs: START_MS + at * 40 }
      send(fields)
    }
    publisher.pace(START_MS + 4000)
    expect(publisher.reading().bFrames).toBeCloseTo(0.4, 1)
  })

  it('has a layer for each RID of its offer, and each SSRC feeds the layer that its packets name', () => {
    const { publisher, send, passed } = publishing()
    expect(publisher.source.layers.map(({ rid }) => rid)).toEqual(['h', 'm', 'l'])
    const [high, low] = [passed('h'), passed('l')]
    send({ ssrc: 1, index: 10, rid: 'h' })
    send({ ssrc: 2, index: 20, rid: 'l' })
    // A browser stops to name the RID once it has a report for the SSRC.
    send({ ssrc: 2, index: 21 })
    send({ ssrc: 3, index: 30, rid: 'x' })
    send({ ssrc: 4, index: 40 })
    send({ ssrc: 1, index: 11, payloadType: 98 })
    expect([high, low].map((packets) => packets.map(({ index }) => index))).toEqual([[10], [20, 21]])
  })

  it('goes on under a new SSRC of the same layer, and the old one feeds it no longer', () => {
    const { send, passed, feedback } = publishing()
    const high = passed('h')
    send({ ssrc: 1, index: 10, rid: 'h' })
    send({ ssrc: 5, index: 500, rid: 'h' })
    send({ ssrc: 1, index: 11 })
    expect(high.map(({ index }) => index)).toEqual([10, 11])
    feedback()
  })

  it('is asked for what is missing, and what comes as RTX fills the gap', () => {
    const { send, passed, feedback } = publishing()
    const high = passed('h')
    send({ ssrc: 1, index: 10, rid: 'h' })
    send({ ssrc: 1, index: 13 })
    expect(feedback()).toEqual([{ kind: 'nack', senderSsrc: 1, mediaSsrc: 1, sequences: [11, 12] }])
    const payload = Buffer.concat([Buffer.from([0, 11]), vp8(false)])
    send({ ssrc: 9, index: 1, payloadType: RTX, repairedRid: 'h', payload })
    expect(high.map(({ index }) => index)).toEqual([10, 13, 11])
    expect(high.at(-1)?.payload).toEqual(vp8(false))
  })

  it('is asked for a keyframe of the layer that a viewer waits for, on its SSRC', () => {
    const { publisher, send, feedback } = publishing()
    const low = publisher.source.layers.find(({ rid }) => rid === 'l')?.track
    low?.requestKeyframe(START_MS)
    expect(feedback()).toEqual([])
    send({ ssrc: 1, index: 10, rid: 'h' })
    send({ ssrc: 2, index: 20, rid: 'l' })
    publisher.pace(START_MS + 500)
    expect(feedback().filter(({ kind }) => kind === 'pli')).toEqual([{ kind: 'pli', senderSsrc: 1, mediaSsrc: 2 }])
  })

  it('gets a receiver report and a REMB each second, as soon as it sends', () => {
    const { publisher, send, feedback } = publishing()
    publisher.pace(START_MS)
    expect(feedback()).toEqual([])
    send({ ssrc: 1, index: 10, rid: 'h' })
    for (let nowMs = START_MS + 20; nowMs <= START_MS + 3000; nowMs += 20) publisher.pace(nowMs)
    const received = feedback()
    const reports = received.filter((packet) => packet.kind === 'rr')
    expect(reports).toHaveLength(3)
    expect(reports[0]).toMatchObject({ reports: [{ ssrc: 1, packetsLost: 0, highestSequence: 10 }] })
    const remb = received.filter((packet) => packet.kind === 'remb')
    expect(remb).toHaveLength(3)
    expect(remb[0]?.ssrcs).toEqual([1])
    // 18 bits of mantissa.
    expect((remb[0]?.bitrate ?? 0) / MAX_BITRATE).toBeCloseTo(1, 4)
  })

  it('gets the arrival of each packet by transport-wide feedback, every 60 ms', () => {
    const { publisher, send, sent } = publishing()
    const feedback = (): Buffer[] => sent.splice(0).flatMap(transportFeedbackIn)
    publisher.pace(START_MS)
    for (const [at, transportSequence] of [100, 101, 103].entries())
      send({ ssrc: 1, index: at, rid: 'h', transportSequence, nowMs: START_MS + at * 10 })
    publisher.pace(START_MS + 40)
    expect(feedback()).toEqual([])
    publisher.pace(START_MS + 60)
    const fates = feedback().flatMap(fatesOf)
    expect(fates.map(({ sequence, arrivalUs }) => [sequence, arrivalUs !== null])).toEqual([
      [100, true],
      [101, true],
      [102, false],
      [103, true],
    ])
    const arrivals = fates.flatMap(({ arrivalUs }) => arrivalUs ?? [])
    expect(arrivals.map((us) => us - (arrivals[0] ?? 0))).toEqual([0, 10_000, 20_000])
    publisher.pace(START_MS + 120)
    expect(feedback()).toEqual([])
    send({ ssrc: 1, index: 3, transportSequence: 104, nowMs: START_MS + 130 })
    publisher.pace(START_MS + 179)
    expect(feedback()).toEqual([])
    publisher.pace(START_MS + 180)
    expect(feedback()).toHaveLength(1)
  })

  it('says by its sender reports when a packet was captured', () => {
    const { publisher, send } = publishing()
    send({ ssrc: 1, index: 10, rid: 'h' })
    const timeline = publisher.source.layers[0]?.track.timeline
    const report = { kind: 'sr', ssrc: 1, packetCount: 1, octetCount: 1, reports: [] } as const
    publisher.rtcp([{ ...report, ...ntpOf(START_MS - 5000), rtpTimestamp: 36_000 }], START_MS + 100)
    expect(timeline?.timestampAt(START_MS + 1100)).toBe(36_000 + 90_000)
  })

  it('without a clock was given one that stands still, and jumps each five seconds', () => {
    const { publisher, send } = publishing()
    send({ ssrc: 1, index: 10, rid: 'h' })
    const counts = { packetCount: 1, octetCount: 1, reports: [], rtpTimestamp: 36_001 }
    publisher.rtcp([{ kind: 'sr', ssrc: 1, ntpSeconds: 0, ntpFraction: 0, ...counts }], START_MS)
    expect(publisher.source.layers[0]?.track.timeline.timestampAt(START_MS)).toBe(36_000)
  })

  it('passes no report of another kind or of an unknown stream for a sender report', () => {
    const { publisher, send, feedback } = publishing()
    send({ ssrc: 1, index: 10, rid: 'h' })
    const time = ntpOf(START_MS)
    const report = { kind: 'sr', packetCount: 1, octetCount: 1, reports: [], ...time, rtpTimestamp: 1 } as const
    publisher.rtcp(
      [
        { ...report, ssrc: 1 },
        { kind: 'rr', ssrc: 1, reports: [] },
      ],
      START_MS,
    )
    publisher.rtcp([{ ...report, ssrc: 99 }], START_MS + 500)
    publisher.pace(START_MS + 1000)
    const [block] = feedback().flatMap((packet) => (packet.kind === 'rr' ? packet.reports : []))
    expect(block).toMatchObject({ ssrc: 1, lastReport: middleOf(time), delaySinceLastReport: 65_536 })
  })

  it('is asked again for what is still missing, and not with what is no RTP', () => {
    const { publisher, send, feedback } = publishing()
    send({ ssrc: 1, index: 10, rid: 'h' })
    send({ ssrc: 1, index: 12 })
    feedback()
    publisher.rtp(Buffer.alloc(3), 13, START_MS)
    publisher.pace(START_MS + 40)
    expect(feedback().filter(({ kind }) => kind === 'nack')).toMatchObject([{ sequences: [11] }])
  })

  it('has a bitrate for each layer', () => {
    const { publisher, send } = publishing()
    for (let at = 0; at < 10; at++) send({ ssrc: 1, index: 10 + at, rid: 'h' })
    publisher.pace(START_MS + 1000)
    const [high, middle] = publisher.source.layers.map(({ meter }) => meter.bitrate)
    expect([(high ?? 0) > 2000, middle]).toEqual([true, 0])
  })

  it('has a bounded number of streams', () => {
    const { publisher, send, passed, sent } = publishing()
    const high = passed('h')
    for (let ssrc = 1; ssrc <= 1000; ssrc++) send({ ssrc, index: 0, rid: ['h', 'm', 'l'][ssrc % 3] ?? 'h' })
    publisher.pace(START_MS + 1000)
    const blocks = sent
      .flatMap((compound) => parseRtcp(compound) ?? [])
      .flatMap((one) => ('reports' in one ? one.reports : []))
    expect(blocks).toHaveLength(3)
    expect(high.length).toBeGreaterThan(300)
  })
})

describe('a publisher of one layer', () => {
  it('has the tracks that were negotiated, and the profile of H.264', () => {
    const { publisher, reported } = publishing({ offer: PLAIN_OFFER, codec: 'h264' })
    publisher.start()
    const config = new Uint8Array(0)
    expect(reported).toEqual([
      [
        { kind: 'audio', codec: 'opus', sampleRate: 48_000, channels: 2, config },
        { kind: 'video', codec: 'h264', width: 0, height: 0, config },
      ],
    ])
    const { audio, layers, profile } = publisher.source
    expect(profile).toMatch(/^42[0e]01f$/)
    expect([audio?.shape, layers.map(({ rid, track }) => [rid, track.shape])]).toEqual([
      { kind: 'audio', codec: 'opus', rate: 48_000 },
      [['', { kind: 'video', codec: 'h264', rate: 90_000 }]],
    ])
    expect(publishing({ offer: PLAIN_OFFER }).publisher.source.profile).toBeNull()
  })

  it('may send audio alone, and is asked for no packet of it again', () => {
    const offer = PLAIN_OFFER.slice(0, PLAIN_OFFER.indexOf('m=video')).replace('BUNDLE 0 1', 'BUNDLE 0')
    const { publisher, reported, send, feedback } = publishing({ offer, codec: null })
    publisher.start()
    expect([reported[0]?.map(({ kind }) => kind), publisher.source.layers, publisher.frames]).toEqual([
      ['audio'],
      [],
      0,
    ])
    for (const index of [1, 2, 5]) send({ ssrc: 7, index, payloadType: OPUS })
    publisher.pace(START_MS + 100)
    publisher.source.audio?.requestKeyframe(START_MS + 200)
    expect(feedback().map(({ kind }) => kind)).toEqual(['rr', 'remb'])
  })

  it.each([
    ['of the SSRC that its offer pairs with the video', PLAIN_OFFER, 2_136_920_456],
    ['of any SSRC', PLAIN_OFFER.replace(/a=ssrc-group.*\r\n/, ''), 9],
  ])('fills a gap by RTX %s', (_which, offer, rtxSsrc) => {
    const { publisher, send } = publishing({ offer })
    const packets: number[] = []
    publisher.source.layers[0]?.track.listen(({ index }) => packets.push(index))
    for (const index of [10, 12]) send({ ssrc: 2_394_981_506, index })
    send({ ssrc: rtxSsrc, index: 1, payloadType: RTX, payload: Buffer.concat([Buffer.from([0, 11]), vp8(false)]) })
    expect(packets).toEqual([10, 12, 11])
  })

  it('takes no RTX of an SSRC whose video is not there', () => {
    const { publisher, send } = publishing({ offer: PLAIN_OFFER })
    const packets: number[] = []
    publisher.source.layers[0]?.track.listen(({ index }) => packets.push(index))
    for (const index of [10, 12]) send({ ssrc: 5, index })
    const payload = Buffer.concat([Buffer.from([0, 11]), vp8(false)])
    send({ ssrc: 2_136_920_456, index: 1, payloadType: RTX, payload })
    expect(packets).toEqual([10, 12])
  })
})
