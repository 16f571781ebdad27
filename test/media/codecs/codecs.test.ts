import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FrameAssembler, type VideoPacket } from '../../../src/media/codecs/assembler.ts'
import { videoReader } from '../../../src/media/codecs/videoReader.ts'
import { withUserData } from '../../../src/media/codecs/h264.ts'
import { lengthPrefixed, splitNals } from '../../../src/media/codecs/nalUnits.ts'
import { packetizer } from '../../../src/media/codecs/packetizer.ts'
import * as config from '../../../src/media/codecs/h264Config.ts'
import { opusSamples } from '../../../src/media/codecs/opus.ts'
import { av1Frame } from '../../../src/media/codecs/av1.ts'
import type { VideoCodec } from '../../../src/media/codecs/codecs.ts'
import { hevcParameterSets, isHevcParameterSet } from '../../../src/media/codecs/hevc.ts'
import { inHls } from '../../../src/media/codecs/inHls.ts'
import { isInWebRtc } from '../../../src/media/codecs/inWebRtc.ts'
import { readFrame } from '../../../src/media/codecs/wholeFrame.ts'
import { encoded } from '../ffmpeg/frames.ts'
import { annexBUnits, ivfFrames, packetsOf } from '../relay/wire/captures/read.ts'

const assemble = (codec: VideoCodec, packets: readonly VideoPacket[]) => {
  const assembler = new FrameAssembler(videoReader(codec))
  return packets.flatMap((packet) => assembler.push(packet, 0))
}

/** Splits AV1 temporal units as RTP does: OBUs without size and delimiter, in elements of `size` bytes. */
function av1Packets(units: readonly Buffer[], size: number): VideoPacket[] {
  let index = 0
  return units.flatMap((unit, at) => {
    const obus = splitObus(unit).filter((obu) => obu.readUInt8(0) >> 3 !== 2)
    const isKey = obus.some((obu) => obu.readUInt8(0) >> 3 === 1)
    const parts = obus.flatMap((obu) =>
      Array.from({ length: Math.ceil(obu.length / size) }, (_, part) => ({
        data: obu.subarray(part * size, (part + 1) * size),
        header: (part > 0 ? 0x80 : 0) | ((part + 1) * size < obu.length ? 0x40 : 0),
      })),
    )
    return parts.map(({ data, header }, part) => ({
      index: index++,
      timestamp: at * 9000,
      marker: part === parts.length - 1,
      payload: Buffer.concat([Buffer.from([header | 0x10 | (isKey && part === 0 ? 0x08 : 0)]), data]),
    }))
  })
}

function splitObus(unit: Buffer): Buffer[] {
  const obus: Buffer[] = []
  for (let at = 0; at < unit.length; ) {
    const header = Buffer.from([unit.readUInt8(at) & ~2])
    let [size, shift, next] = [0, 0, at + 1]
    do size |= (unit.readUInt8(next) & 127) << (7 * shift++)
    while (unit.readUInt8(next++) >= 128)
    obus.push(Buffer.concat([header, unit.subarray(next, next + size)]))
    at = next + size
  }
  return obus
}

describe.each(['vp8', 'vp9'] as const)('%s', (codec) => {
  const packets = packetsOf(codec)
  const frames = ivfFrames(codec)

  it('returns the encoded frames, with the size of each keyframe', () => {
    const found = assemble(codec, packets)
    expect(found.map(({ data }) => data)).toEqual(frames)
    expect(found.map(({ key }) => key)).toEqual([true, false, false, false, true, false])
    expect(found[0]?.format).toMatchObject({ width: 98, height: 66 })
  })

  it('finds the start of a keyframe', () => {
    const starts = packets.filter(({ payload }) => videoReader(codec).isKeyStart(payload))
    expect(starts.map(({ timestamp }) => timestamp - (packets[0]?.timestamp ?? 0))).toEqual([0, 4 * 9000])
  })
})

describe('h264', () => {
  const packets = packetsOf('h264')
  const units = annexBUnits('h264.h264')

  it('takes user data in front of the picture, behind the parameter sets', () => {
    const uuid = Buffer.from('9a21f3be31f04b78b0bec7f7dbb97250', 'hex')
    const data = Buffer.from('0000019a00000002', 'hex')
    const [sps, pps, ...slices] = [
      [0x67, 1],
      [0x68, 2],
      [0x65, 3],
      [0x65, 4],
    ].map((nal) => Buffer.from(nal))
    const frame = lengthPrefixed([sps, pps, ...slices].filter((nal) => nal !== undefined))
    const written = withUserData(frame, uuid, data)
    const nals = splitNals(written) ?? []
    expect(nals.map((nal) => nal.readUInt8(0) & 31)).toEqual([7, 8, 6, 5, 5])
    // A 3 in front of each byte that would be a start code with the two zeros before it.
    expect(nals[2]?.toString('hex')).toBe(`060518${uuid.toString('hex')}000003019a000003000280`)
    expect(config.withoutEmulation(nals[2] ?? Buffer.alloc(0)).subarray(3, -1)).toEqual(Buffer.concat([uuid, data]))
    expect(withUserData(written, uuid, Buffer.alloc(8))).toBe(written)
    for (const without of [lengthPrefixed([Buffer.from([0x67, 1])]), Buffer.from([0, 0, 0, 9, 1])])
      expect(withUserData(without, uuid, data)).toBe(without)
  })

  it('returns the encoded frames, with size and configuration of each keyframe', () => {
    const found = assemble('h264', packets)
    expect(found.flatMap(({ data }) => splitNals(data) ?? [])).toEqual(units)
    expect(found.map(({ key }) => key)).toEqual([true, false, false, false, true, false])
    expect(found[0]?.format).toMatchObject({ width: 98, height: 66 })
    const sets = config.readAvcConfig(found[0]?.format?.config ?? Buffer.alloc(0))
    expect(sets?.sps.map((nal) => config.profileLevelIdOf(nal))).toEqual(['42c00a'])
    expect([sets?.sps[0], sets?.pps[0]]).toEqual(units.slice(0, 2))
  })

  it('is split into packets that join to the same frames', () => {
    const nal = fc.tuple(fc.integer({ min: 1, max: 23 }), fc.uint8Array({ minLength: 1, maxLength: 300, size: 'max' }))
    const frames = fc.array(
      nal.map(([type, body]) => Buffer.concat([Buffer.from([0x60 | type]), body])),
      {
        minLength: 1,
        maxLength: 8,
      },
    )
    fc.assert(
      fc.property(frames, fc.integer({ min: 10, max: 200 }), (nals, most) => {
        const payloads = packetizer('h264', Buffer.alloc(0), most)(lengthPrefixed(nals), false) ?? []
        expect(payloads.every(({ length }) => length > 0 && length <= most)).toBe(true)
        expect(videoReader('h264').join(payloads)?.data).toEqual(lengthPrefixed(nals))
      }),
    )
  })

  it.each([
    // From an encoder, for 1920x1080 (cropped from 1088, high profile) and 1280x720 (main).
    ['67640028acd940780227e5c044000003000400000300f03c60c658', 1920, 1080, 30],
    ['674d401fe8802802dd80b501010140000003004000000c83c60c4480', 1280, 720, 25],
    // From a browser, for 640x480: it declares no frame rate.
    ['6742c01e8c8d40501e900f08846a', 640, 480, null],
  ])('has the size and the frame rate that its SPS tells', (sps, width, height, rate) => {
    expect(config.readSps(Buffer.from(sps, 'hex'))).toEqual({ width, height })
    expect(config.declaredFrameRate(Buffer.from(sps, 'hex'))).toBe(rate)
  })

  it('has no frame rate where its SPS is cut off', () => {
    const sps = Buffer.from('67640028acd940780227e5c044000003000400000300f03c60c658', 'hex')
    for (let length = 0; length < 22; length++) expect(config.declaredFrameRate(sps.subarray(0, length))).toBeNull()
  })

  it('begins a key with its parameter sets or the first slice of an IDR picture, not with another slice', () => {
    const isStart = (hex: string) => videoReader('h264').isKeyStart(Buffer.from(hex, 'hex'))
    expect(['67640028', '6588', '7c8588', '78000467640028000265 88'.replace(' ', '')].map(isStart)).toEqual(
      Array(4).fill(true),
    )
    expect(['6540', '7c0588', '4188', '7c8188', '7c8540', ''].map(isStart)).toEqual(Array(6).fill(false))
  })
})

describe('hevc', () => {
  const isStart = (hex: string) => videoReader('hevc').isKeyStart(Buffer.from(hex, 'hex'))

  it('begins a key with its parameter sets or the first slice of a picture that a decoder can begin with', () => {
    // VPS, SPS, IDR, CRA; an aggregation packet; the first fragment of an IDR picture.
    const starts = ['40010c', '420101', '2601af', '2a0180', '6001000340010c000344 01c1'.replace(' ', ''), '62019380']
    expect(starts.map(isStart)).toEqual(starts.map(() => true))
    // PPS, SEI, another picture, another slice, another fragment, a fragment of another picture, nothing.
    const others = ['4401c1', '4e0105', '0201d0', '26012f', '62011380', '62018180', '62019300', '']
    expect(others.map(isStart)).toEqual(others.map(() => false))
  })

  it('returns the encoded frames, with size and configuration of each keyframe', async () => {
    const { tracks, frames } = await encoded({ video: 'hevc', seconds: 2, size: '320x180', gop: 25 })
    const [video] = tracks
    if (video?.kind !== 'video') throw new Error('no video')
    const cut = packetizer('hevc', Buffer.from(video.config), 200)
    const packets = frames.flatMap(({ data, key }, at) =>
      (cut(Buffer.from(data), key) ?? []).map((payload, index, all) => ({
        payload,
        timestamp: at * 3600,
        marker: index === all.length - 1,
      })),
    )
    const found = assemble(
      'hevc',
      packets.map((packet, index) => ({ ...packet, index })),
    )
    expect(found.map(({ key }) => key)).toEqual(frames.map(({ key }) => key))
    const units = (data: Uint8Array) =>
      (splitNals(Buffer.from(data)) ?? []).filter((nal) => !isHevcParameterSet(nal)).map((nal) => nal.toString('hex'))
    expect(found.map(({ data }) => units(data))).toEqual(frames.map(({ data }) => units(data)))
    expect(found[0]?.format).toMatchObject({ width: 320, height: 180 })
    const setsOf = (config: Uint8Array) => hevcParameterSets(Buffer.from(config))
    expect(setsOf(found[0]?.format?.config ?? Buffer.alloc(0))).toEqual(setsOf(video.config))
  })
})

describe('frames of another protocol, cut into packets', () => {
  const sizes = fc.integer({ min: 20, max: 300 })
  const joined = (codec: VideoCodec, payloads: readonly Buffer[]) => videoReader(codec).join(payloads)

  it.each(['vp8', 'vp9', 'av1'] as const)('%s joins to the same', (codec) => {
    const frames = codec === 'av1' ? ivfFrames(codec).map((unit) => av1Frame(unit, true)?.data) : ivfFrames(codec)
    fc.assert(
      fc.property(fc.constantFrom(...frames), sizes, (frame = Buffer.alloc(0), most) => {
        const { key = false } = readFrame(codec, frame, true) ?? {}
        const payloads = packetizer(codec, Buffer.alloc(0), most)(frame, key) ?? []
        expect(payloads.every(({ length }) => length > 0 && length <= most)).toBe(true)
        expect(payloads.map((payload) => videoReader(codec).isKeyStart(payload))).toEqual(
          payloads.map((_, at) => key && at === 0),
        )
        expect(joined(codec, payloads)).toMatchObject({ key, data: frame })
      }),
    )
  })

  it('hevc joins to the same, whatever its units are', () => {
    const nal = fc
      .tuple(fc.integer({ min: 0, max: 31 }), fc.uint8Array({ minLength: 1, maxLength: 300, size: 'max' }))
      .map(([type, body]) => Buffer.concat([Buffer.from([type << 1, 1]), body]))
    fc.assert(
      fc.property(fc.array(nal, { minLength: 1, maxLength: 8 }), sizes, (nals, most) => {
        const payloads = packetizer('hevc', Buffer.alloc(0), most)(lengthPrefixed(nals), false) ?? []
        expect(payloads.every(({ length }) => length > 0 && length <= most)).toBe(true)
        expect(joined('hevc', payloads)?.data).toEqual(lengthPrefixed(nals))
      }),
    )
  })

  it('is what viewers decode as it is: HEVC main and main 10, AV1 main with 8 bits, VP9 of profile 0', () => {
    const video = { config: Uint8Array.of(0x81, 0, 0, 0) }
    const av1 = (...config: number[]) => isInWebRtc({ ...video, codec: 'av1', config: Uint8Array.from(config) })
    expect([av1(0x81, 0x08, 0x0c), av1(0x81, 0x28, 0), av1(0x81, 0x08, 0x4c), av1()]).toEqual([
      true,
      false,
      false,
      false,
    ])
    const hevc = (profile: number) => isInWebRtc({ ...video, codec: 'hevc', config: Uint8Array.of(1, 0x60 | profile) })
    expect([1, 2, 3, 4].map(hevc)).toEqual([true, true, false, false])
    const vp9 = (...config: number[]) => isInWebRtc({ ...video, codec: 'vp9', config: Uint8Array.from(config) })
    expect([vp9(0, 20), vp9(2, 20), vp9()]).toEqual([true, false, false])
    expect((['h264', 'vp8'] as const).map((codec) => isInWebRtc({ ...video, codec }))).toEqual([true, true])
  })

  it('says in each packet where it is in its frame, and whether the frame stands alone', () => {
    const heads = (codec: VideoCodec, frame: Buffer, key: boolean) =>
      packetizer(codec, Buffer.alloc(0), 101)(frame, key)?.map((payload) => payload[0])
    const frame = Buffer.alloc(250)
    for (const key of [true, false]) expect(heads('vp8', frame, key)).toEqual([0x10, 0, 0])
    expect([heads('vp9', frame, true), heads('vp9', frame, false)]).toEqual([
      [0x08, 0, 0x04],
      [0x48, 0x40, 0x44],
    ])
    expect(heads('vp9', Buffer.alloc(9), false)).toEqual([0x4c])
    // One OBU with its size.
    const unit = Buffer.concat([Buffer.from([0x32, 0xf7, 0x01]), Buffer.alloc(247)])
    expect([heads('av1', unit, true), heads('av1', unit, false)]).toEqual([
      [0x48, 0xc0, 0x80],
      [0x40, 0xc0, 0x80],
    ])
  })

  it('a malformed one becomes no packet', () => {
    const broken = Buffer.from([0, 0, 0, 9, 1])
    for (const codec of ['h264', 'hevc'] as const)
      expect(packetizer(codec, Buffer.alloc(0), 100)(broken, true)).toBeNull()
    expect(packetizer('av1', Buffer.alloc(0), 100)(Buffer.from([0x0a, 9, 1]), true)).toBeNull()
  })
})

describe('av1', () => {
  const units = ivfFrames('av1')

  it('returns the encoded frames without temporal delimiters, and the av1C of the sequence header', () => {
    const found = assemble('av1', av1Packets(units, 300))
    expect(found.map(({ data }) => splitObus(data))).toEqual(units.map((unit) => splitObus(unit).slice(1)))
    expect(found.map(({ key }) => key)).toEqual([true, false, false, false, true])
    expect(found[0]?.format).toMatchObject({ width: 98, height: 66 })
    expect(found[0]?.format?.config.toString('hex')).toBe('81000c000a0a00000003361826d7c802')
  })
})

/** The slices of an H.264 frame, without the other units. */
const frameData = (codec: VideoCodec, data: Buffer): Buffer =>
  codec === 'h264' ? lengthPrefixed((splitNals(data) ?? []).filter((nal) => (nal.readUInt8(0) & 31) <= 5)) : data

describe('frames', () => {
  const streams = [
    ...(['vp8', 'vp9', 'h264'] as const).map((codec) => ({ codec, packets: packetsOf(codec) })),
    {
      codec: 'av1' as const,
      packets: av1Packets(ivfFrames('av1'), 300),
    },
  ]

  it.each(streams)(
    'of $codec come out the same, however their packets are shuffled and repeated',
    ({ codec, packets }) => {
      const [head, ...rest] = packets
      if (head === undefined) throw new Error('an empty capture')
      const whole = assemble(codec, packets)
      fc.assert(
        fc.property(fc.shuffledSubarray([...rest, ...rest], { minLength: rest.length * 2 }), (shuffled) => {
          expect(assemble(codec, [head, ...shuffled])).toEqual(whole)
        }),
        { numRuns: 30 },
      )
    },
  )

  it.each(streams)(
    'of $codec never come out damaged: after a loss the next one is a keyframe',
    ({ codec, packets }) => {
      const whole = new Map(assemble(codec, packets).map((frame) => [frame.timestamp, frame]))
      const later = packets.map((packet) => ({
        ...packet,
        index: packet.index + 1000,
        timestamp: packet.timestamp + 90_000,
      }))
      fc.assert(
        fc.property(fc.subarray([...packets], { minLength: packets.length - 6 }), (some) => {
          const found = assemble(codec, [...some, ...later])
          for (const frame of found) {
            const original = whole.get(frame.timestamp) ?? whole.get(frame.timestamp - 90_000)
            expect(frameData(codec, frame.data)).toEqual(frameData(codec, original?.data ?? Buffer.alloc(0)))
          }
          const isLossless = some.length === packets.length
          expect(found.length).toBeGreaterThanOrEqual(whole.size * (isLossless ? 2 : 1))
          const times = found.map(({ timestamp }) => timestamp)
          for (const [at, frame] of found.entries()) {
            const isNext = at > 0 && frame.timestamp - (times[at - 1] ?? 0) === 9000
            if (!isNext) expect(frame.key).toBe(true)
          }
        }),
        { numRuns: 60 },
      )
    },
  )
})

describe('a lost packet', () => {
  const FRAME_MS = 100
  const once = packetsOf('vp8')
  const lastIndex = once.at(-1)?.index ?? 0
  /** Two minutes of a low-bitrate stream: most frames are one packet. */
  const packets = Array.from({ length: 20 }, (_, round) =>
    once.map((packet) => ({
      ...packet,
      index: packet.index + round * (lastIndex - (once[0]?.index ?? 0) + 1),
      timestamp: packet.timestamp + round * 6 * 9000,
    })),
  ).flat()
  const atMs = ({ timestamp }: { timestamp: number }): number =>
    ((timestamp - (packets[0]?.timestamp ?? 0)) / 9000) * FRAME_MS

  it('delays frames for about a second, at any packet rate', () => {
    const assembler = new FrameAssembler(videoReader('vp8'))
    const lost = [40, 90, 91, 140].map((at) => packets[at])
    let latestMs = 0
    for (const packet of packets.filter((one) => !lost.includes(one))) {
      for (const frame of assembler.push(packet, atMs(packet)))
        latestMs = Math.max(latestMs, atMs(packet) - atMs(frame))
    }
    expect(latestMs).toBeGreaterThan(0)
    expect(latestMs).toBeLessThanOrEqual(1000 + FRAME_MS)
  })

  it('delays frames as long as a retransmission may still arrive', () => {
    const assembler = new FrameAssembler(videoReader('vp8'))
    const late = packets[20]
    const found = packets.flatMap((packet) => {
      if (packet === late) return []
      const frames = assembler.push(packet, atMs(packet))
      return late && atMs(packet) === atMs(late) + 700 ? [...frames, ...assembler.push(late, atMs(packet))] : frames
    })
    expect(found.map(({ timestamp }) => timestamp)).toEqual(assemble('vp8', packets).map(({ timestamp }) => timestamp))
  })
})

describe('opus', () => {
  it.each([
    ['fc', 960],
    ['78', 960],
    ['08', 960],
    ['fd', 1920],
    ['8302', 240],
    ['1b03', 8640],
  ])('%s plays as long as its table of contents says', (hex, samples) => {
    expect(opusSamples(Buffer.from(hex, 'hex'))).toBe(samples > 5760 ? null : samples)
  })

  it('has no duration when it is empty', () => expect(opusSamples(Buffer.alloc(0))).toBeNull())
})

it('HLS never has AAC as it is whose channels have a layout of their own, also with a rate that is written out', () => {
  const aac = (...config: number[]) =>
    inHls({ kind: 'audio', codec: 'aac', sampleRate: 48_000, channels: 2, config: Uint8Array.from(config) })
  expect([
    aac(0x11, 0x90),
    aac(0x11, 0x80),
    aac(0x17, 0x80, 0x5d, 0xc0, 0x10),
    aac(0x17, 0x80, 0x5d, 0xc0, 0x00),
  ]).toEqual(['always', 'never', 'always', 'never'])
})
