import { describe, expect, it } from 'vitest'
import { BitrateMeter, type Source } from '../../../src/media/relay/forward/source.ts'
import { RtpTrack } from '../../../src/media/relay/forward/rtpTrack.ts'
import { DownTrack } from '../../../src/media/relay/outbound/downTrack.ts'
import { newDownTrack, newRtpNumbers } from '../../../src/media/relay/outbound/newDownTrack.ts'
import { Viewer } from '../../../src/media/relay/outbound/viewer.ts'
import { parseRtcp, type RtcpPacket } from '../../../src/media/relay/wire/rtcp/rtcp.ts'
import { Camera, RecordingSender, MEDIA, REPAIR, downTrackTo } from './parts.ts'

const START_MS = 1_750_000_000_000
const CNAME = 'session-7'

const layerOf = (camera: Camera) => ({ rid: '', track: camera.track, meter: new BitrateMeter(START_MS) })

const sourceOf = (...cameras: readonly Camera[]): Source => ({
  sessionId: 'p',
  sourceId: null,
  audio: null,
  layers: cameras.map(layerOf),
  profile: null,
})

function watching({ isConnected = true } = {}) {
  const [sender, sent] = [new RecordingSender(), [] as Buffer[]]
  const transport = { isConnected, sendRtcp: (...packets: readonly Buffer[]) => void sent.push(Buffer.concat(packets)) }
  const viewer = new Viewer({ transport, downTracks: [downTrackTo(sender)], cname: CNAME })
  const control = (): RtcpPacket[] => sent.splice(0).flatMap((compound) => parseRtcp(compound) ?? [])
  const frames = (): string[] => sender.on(MEDIA).map(({ payload }) => payload.trim())
  return { viewer, sender, transport, control, frames }
}

const pli = (mediaSsrc = MEDIA): RtcpPacket => ({ kind: 'pli', senderSsrc: 1, mediaSsrc })

/** A layer on which so many bits came in the last second. */
const measured = (camera: Camera, bitrate: number) => {
  const meter = new BitrateMeter(START_MS - 1000)
  meter.add(bitrate / 8)
  meter.tick(START_MS)
  return { rid: '', track: camera.track, meter }
}
const rembOf = (bitrate: number): RtcpPacket => ({ kind: 'remb', senderSsrc: 1, bitrate, ssrcs: [MEDIA] })

describe('a viewer', () => {
  it('gets nothing before its transport is connected, and then what its room shows', () => {
    const { viewer, transport, frames } = watching({ isConnected: false })
    const camera = new Camera('a')
    camera.send(START_MS, true)
    expect(viewer.show(sourceOf(camera), START_MS + 10)).toBe(true)
    camera.send(START_MS + 40)
    expect(frames()).toEqual([])
    transport.isConnected = true
    viewer.start(START_MS + 50)
    camera.send(START_MS + 80)
    expect(frames()).toEqual(['a1000', 'a1001', 'a1002'])
  })

  it('says that a source has no codec that it negotiated', () => {
    const { viewer } = watching()
    const h264 = new RtpTrack({ kind: 'video', codec: 'h264', rate: 90_000 }, null)
    const layer = { rid: '', track: h264, meter: new BitrateMeter(0) }
    expect(viewer.show({ ...sourceOf(), layers: [layer] }, START_MS)).toBe(false)
    expect(viewer.show(sourceOf(), START_MS)).toBe(false)
    expect(viewer.show(sourceOf(new Camera('a')), START_MS)).toBe(true)
    expect(viewer.show(null, START_MS)).toBe(true)
  })

  it('gets a sender report and its CNAME each second, while something is forwarded', () => {
    const { viewer, control } = watching()
    const camera = new Camera('a')
    viewer.show(sourceOf(camera), START_MS)
    viewer.tick(START_MS)
    expect(control()).toEqual([])
    for (let nowMs = START_MS + 200; nowMs <= START_MS + 5000; nowMs += 200) {
      camera.send(nowMs, true)
      viewer.tick(nowMs)
    }
    const reports = control()
    expect(reports.filter(({ kind }) => kind === 'sr')).toHaveLength(5)
    expect(reports.filter(({ kind }) => kind === 'sdes').at(0)).toEqual({
      kind: 'sdes',
      chunks: [{ ssrc: MEDIA, cname: CNAME }],
    })
    const last = reports.findLast((packet) => packet.kind === 'sr')
    expect(last).toMatchObject({ ssrc: MEDIA, packetCount: 25, rtpTimestamp: ((START_MS + 5000) * 90) >>> 0 })
  })

  it('leaves its tracks at its end, with a BYE', () => {
    const { viewer, control, frames } = watching()
    const camera = new Camera('a')
    viewer.show(sourceOf(camera), START_MS)
    camera.send(START_MS, true)
    viewer.end()
    camera.send(START_MS + 40)
    expect(frames()).toEqual(['a1000'])
    expect(control()).toEqual([{ kind: 'bye', ssrcs: [MEDIA] }])
  })

  it('costs a publisher no more than five keyframes at once and one each two seconds, whether it sends PLI or FIR', () => {
    const { viewer } = watching()
    const camera = new Camera('a')
    viewer.show(sourceOf(camera), START_MS)
    camera.send(START_MS, true)
    const fir: RtcpPacket = { kind: 'fir', senderSsrc: 1, requests: [{ ssrc: MEDIA, sequence: 1 }] }
    const asked = camera.asked
    for (let nowMs = START_MS + 1000; nowMs <= START_MS + 21_000; nowMs += 100) {
      viewer.rtcp([pli(), fir, pli(999)], nowMs)
      camera.send(nowMs, true)
    }
    const keyframes = camera.asked - asked
    expect(keyframes).toBeGreaterThanOrEqual(10)
    expect(keyframes).toBeLessThanOrEqual(5 + 10)
  })

  it('gets what it lost on the stream that it names, twice while it loses much', () => {
    const { viewer, sender } = watching()
    const camera = new Camera('a')
    viewer.show(sourceOf(camera), START_MS)
    camera.send(START_MS, true)
    const nack: RtcpPacket = { kind: 'nack', senderSsrc: 1, mediaSsrc: MEDIA, sequences: [100] }
    viewer.rtcp([{ ...nack, mediaSsrc: 999 }], START_MS + 10)
    expect(sender.on(REPAIR)).toEqual([])
    viewer.rtcp([nack], START_MS + 10)
    expect(sender.on(REPAIR)).toHaveLength(1)
    const lossy = (packetsLost: number, highestSequence: number): RtcpPacket => {
      const block = { ssrc: MEDIA, fractionLost: 0, jitter: 0, lastReport: 0, delaySinceLastReport: 0 }
      return { kind: 'rr', ssrc: 1, reports: [{ ...block, packetsLost, highestSequence }] }
    }
    viewer.rtcp([lossy(0, 100)], START_MS + 100)
    viewer.rtcp([lossy(5, 200)], START_MS + 700)
    viewer.rtcp([nack], START_MS + 710)
    expect(sender.on(REPAIR)).toHaveLength(3)
    viewer.rtcp([lossy(8, 300)], START_MS + 1300)
    viewer.rtcp([nack], START_MS + 1310)
    expect(sender.on(REPAIR)).toHaveLength(4)
  })

  it('has the layer that its REMB allows, and switches on a keyframe', () => {
    const { viewer, frames } = watching()
    const [small, large] = [new Camera('s'), new Camera('l')]
    const source = sourceOf(small, large)
    const remb = (bitrate: number): RtcpPacket => ({ kind: 'remb', senderSsrc: 1, bitrate, ssrcs: [MEDIA] })
    const pass = (fromMs: number, toMs: number): void => {
      for (let nowMs = fromMs; nowMs < toMs; nowMs += 20) {
        for (const [camera, bytes] of [
          [small, 100],
          [large, 1000],
        ] as const) {
          camera.send(nowMs, camera.asked > camera.answered, bytes)
          camera.answered = camera.asked
          const meter = source.layers.find(({ track }) => track === camera.track)?.meter
          meter?.add(bytes)
          meter?.tick(nowMs)
        }
        if (nowMs % 200 === 0) viewer.tick(nowMs)
      }
    }
    pass(START_MS, START_MS + 2000)
    viewer.show(source, START_MS + 2000)
    pass(START_MS + 2000, START_MS + 3000)
    expect(frames().at(-1)).toMatch(/^l/)
    viewer.rtcp([remb(100_000)], START_MS + 3000)
    pass(START_MS + 3000, START_MS + 4000)
    expect(frames().at(-1)).toMatch(/^s/)
    const switched = frames().findLastIndex((frame) => frame.startsWith('l'))
    expect(
      frames()
        .slice(switched + 1)
        .every((frame) => frame.startsWith('s')),
    ).toBe(true)
  })

  it('asks the publisher with FIR as with PLI, and not for audio', () => {
    const { viewer } = watching()
    const camera = new Camera('a')
    viewer.start(START_MS)
    viewer.show(sourceOf(camera), START_MS)
    camera.send(START_MS, true)
    const asked = camera.asked
    const fir = (ssrc: number): RtcpPacket => ({
      kind: 'fir',
      senderSsrc: 1,
      requests: [
        { ssrc: 999, sequence: 1 },
        { ssrc, sequence: 1 },
      ],
    })
    viewer.rtcp([fir(998), pli(REPAIR)], START_MS + 1000)
    expect(camera.asked).toBe(asked)
    viewer.rtcp([fir(MEDIA)], START_MS + 1000)
    expect(camera.asked).toBe(asked + 1)
  })

  it('that takes audio alone is shown a source with audio, whatever its video is', () => {
    const sender = new RecordingSender()
    const transport = { isConnected: true, sendRtcp: () => undefined }
    const audioTrack = new DownTrack({
      ssrc: 9,
      kind: 'audio',
      payloadTypes: new Map([['opus', 111]]),
      rtx: null,
      transport: sender,
      firstIndex: 0,
    })
    const viewer = new Viewer({ transport, downTracks: [audioTrack], cname: CNAME })
    const audio = new RtpTrack({ kind: 'audio', codec: 'opus', rate: 48_000 }, null)
    expect(viewer.show({ ...sourceOf(new Camera('a')), audio }, START_MS)).toBe(true)
    audio.take(
      { ssrc: 2, index: 1, timestamp: 0, marker: false, payload: Buffer.from('o'), isKeyStart: true },
      START_MS,
    )
    expect(sender.on(9)).toHaveLength(1)
    expect(viewer.show(sourceOf(new Camera('a')), START_MS)).toBe(false)
    const g711 = new RtpTrack({ kind: 'audio', codec: 'pcma', rate: 8000 }, null)
    expect(viewer.show({ ...sourceOf(), audio: g711 }, START_MS)).toBe(false)
  })

  it('is probed with padding only where another layer is larger, and no faster after a late timer', () => {
    const [small, large] = [new Camera('s'), new Camera('l')]
    const layers = [measured(small, 100_000), measured(large, 400_000)]
    const { viewer, sender } = watching()
    for (const camera of [small, large]) camera.send(START_MS, true, 1000)
    viewer.show({ ...sourceOf(), layers }, START_MS)
    expect(sender.sent[0]?.payload).toMatch(/^l/)
    // An estimate that is too small for the large layer: the small one is shown, with its next keyframe.
    viewer.rtcp([rembOf(120_000)], START_MS + 100)
    viewer.tick(START_MS + 200)
    small.send(START_MS + 200, true, 1000)
    expect(sender.on(MEDIA).at(-1)?.payload).toMatch(/^s/)
    const paddingAt = (ms: number): number => {
      const before = sender.on(REPAIR).length
      viewer.pace(START_MS + ms)
      return sender.on(REPAIR).length - before
    }
    expect([paddingAt(220), paddingAt(4099)]).toEqual([0, 0])
    // 540,000 less 100,000 bits per second: 3,300 bytes in 60 ms. Four packets of the last one are 4,256, so three are due then.
    expect([paddingAt(4200), paddingAt(4800), paddingAt(4802)]).toEqual([4, 3, 0])
    const alone = watching()
    alone.viewer.show({ ...sourceOf(), layers: layers.slice(0, 1) }, START_MS)
    alone.viewer.rtcp([rembOf(120_000)], START_MS)
    alone.viewer.pace(START_MS + 5000)
    expect(alone.sender.on(REPAIR)).toEqual([])
  })

  it('gets a smaller layer when it loses much twice in a row', () => {
    const [small, large] = [new Camera('s'), new Camera('l')]
    const layers = [measured(small, 100_000), measured(large, 400_000)]
    const { viewer, sender } = watching()
    for (const camera of [small, large]) camera.send(START_MS, true)
    viewer.show({ ...sourceOf(), layers }, START_MS)
    const lossy = (highestSequence: number, packetsLost: number): RtcpPacket => {
      const block = { ssrc: MEDIA, fractionLost: 0, jitter: 0, lastReport: 0, delaySinceLastReport: 0 }
      return { kind: 'rr', ssrc: 1, reports: [{ ...block, packetsLost, highestSequence }] }
    }
    for (const [at, packet] of [lossy(100, 0), lossy(200, 40), lossy(300, 80)].entries())
      viewer.rtcp([packet], START_MS + 100 + at * 600)
    viewer.tick(START_MS + 1400)
    for (const camera of [small, large]) camera.send(START_MS + 1400, true)
    expect(sender.on(MEDIA).at(-1)?.payload).toMatch(/^s/)
  })

  it('costs keyframes for five changes of its layer at once, whatever its estimate does', () => {
    const [small, large] = [new Camera('s'), new Camera('l')]
    const layers = [measured(small, 100_000), measured(large, 400_000)]
    const { viewer, sender } = watching()
    for (const camera of [small, large]) camera.send(START_MS, true)
    viewer.show({ ...sourceOf(), layers }, START_MS)
    const shown: string[] = []
    for (let n = 0; n < 16; n += 1) {
      const nowMs = START_MS + 100 + n * 20
      viewer.rtcp([rembOf(n % 2 === 0 ? 50_000 : 600_000)], nowMs)
      viewer.tick(nowMs)
      for (const camera of [small, large]) camera.send(nowMs, true)
      shown.push(sender.on(MEDIA).at(-1)?.payload[0] ?? '')
    }
    const changes = shown.filter((one, at) => one !== (shown[at - 1] ?? 'l')).length
    expect(changes).toBe(5)
  })
})

describe('a viewer that chooses its layer', () => {
  function choosing({ canBeAsked = true } = {}) {
    const [small, large] = [new Camera('s', { canBeAsked }), new Camera('l', { canBeAsked })]
    const layers = [
      { ...measured(small, 100_000), rid: 'q' },
      { ...measured(large, 400_000), rid: 'f' },
    ]
    const { viewer, sender } = watching()
    for (const camera of [small, large]) camera.send(START_MS, true)
    viewer.show({ ...sourceOf(), layers }, START_MS)
    let nowMs = START_MS
    /** The layer that it gets after its next tick and a keyframe of both. */
    const next = (): string => {
      nowMs += 1000
      viewer.tick(nowMs)
      for (const camera of [small, large]) camera.send(nowMs, true)
      return sender.on(MEDIA).at(-1)?.payload[0] ?? ''
    }
    /** A frame of both, and the one that it gets. */
    const goOn = (): string => {
      nowMs += 40
      for (const camera of [small, large]) camera.send(nowMs)
      return sender.on(MEDIA).at(-1)?.payload[0] ?? ''
    }
    return { viewer, layers, next, goOn, now: () => nowMs }
  }

  it('keeps the one before until the keyframe of its own, if the source takes no requests', () => {
    const { viewer, next, goOn, now } = choosing({ canBeAsked: false })
    expect(next()).toBe('l')
    viewer.layers('q', now())
    expect([goOn(), goOn(), next(), goOn()]).toEqual(['l', 'l', 's', 's'])
  })

  it('gets it whatever its bandwidth, until the bandwidth is to decide again', () => {
    const { viewer, next, now } = choosing()
    expect(next()).toBe('l')
    expect(viewer.layers('q', now())).toEqual({
      ok: true,
      layers: [
        { encodingId: 'f', width: 0, height: 0, bitrate: 400_000 },
        { encodingId: 'q', width: 0, height: 0, bitrate: 100_000 },
      ],
      chosen: 'q',
      sent: 'f',
    })
    expect(next()).toBe('s')
    expect(viewer.layers(undefined, now())).toMatchObject({ chosen: 'q', sent: 'q' })
    viewer.rtcp([rembOf(50_000)], now())
    viewer.layers('f', now())
    expect(next()).toBe('l')
    viewer.layers(null, now())
    expect(next()).toBe('s')
    expect(viewer.layers(undefined, now())).toMatchObject({ chosen: null, sent: 'q' })
  })

  it('gets the one that fits while its layer pauses, and its own again after that', () => {
    const { viewer, layers, next, now } = choosing()
    viewer.layers('q', now())
    expect(next()).toBe('s')
    const [small] = layers
    if (small) small.meter.bitrate = 0
    expect(next()).toBe('l')
    if (small) small.meter.bitrate = 100_000
    expect(next()).toBe('s')
  })

  it('is told which there are when it names another, and keeps its own', () => {
    const { viewer, now } = choosing()
    viewer.layers('q', now())
    const problem = 'encodingId names no layer: the stream has "q", "f"'
    expect(viewer.layers('x', now())).toEqual({ ok: false, status: 400, problem })
    expect(viewer.layers(undefined, now())).toMatchObject({ chosen: 'q' })
    viewer.show(null, now())
    expect(viewer.layers('q', now())).toMatchObject({ ok: false })
  })

  it('costs keyframes for five changes at once', () => {
    const { viewer, next, now } = choosing()
    next()
    for (let n = 0; n < 40; n += 1) viewer.layers(n % 2 === 0 ? 'q' : 'f', now())
    expect(next()).toBe('l')
    viewer.layers('q', now())
    expect([next(), next(), next()].at(-1)).toBe('s')
  })
})

describe('a new stream of a viewer', () => {
  it('has random numbers that differ, and a first sequence number below 32768', () => {
    const transport = new RecordingSender()
    const codec = {
      payloadType: 96,
      name: 'vp8',
      clockRate: 90_000,
      channels: 1,
      fmtpText: '',
      fmtp: new Map<string, string>(),
      feedback: [],
    }
    const numbersOf = (byte: number) => newRtpNumbers({ bytes: (count) => Buffer.alloc(count, byte) })
    const of = (byte: number, name: 'vp8' | 'opus', rtxPayloadType: number | null) =>
      newDownTrack({ codec, name, rtxPayloadType }, numbersOf(byte), transport).options
    const payloadTypes = new Map([[96, 97]])
    expect(of(0xff, 'vp8', 97)).toMatchObject({
      ssrc: 0xffffffff,
      firstIndex: 0x7fff,
      kind: 'video',
      rtx: { ssrc: 0xfffffffe, payloadTypes },
    })
    expect(of(0, 'vp8', 97)).toMatchObject({ ssrc: 1, firstIndex: 0, rtx: { ssrc: 0 } })
    expect(of(0x80, 'opus', null)).toMatchObject({
      ssrc: 0x80808081,
      firstIndex: 0x80,
      kind: 'audio',
      rtx: null,
      payloadTypes: new Map([['opus', 96]]),
    })
  })
})
