import type { Frame } from '../../../src/media/frame.ts'
import { type Message, MESSAGE } from '../../../src/media/rtmp/messages.ts'

/** Sequence and picture parameter set of 320x240, constrained baseline, as x264 writes them. */
const SPS = Buffer.from('67 42 c0 0d da 05 07 e8 40 00 00 03 00 40 00 00 0f 03 c5 0a a8'.replaceAll(' ', ''), 'hex')
const PPS = Buffer.from('68ce0fc8', 'hex')

/** An AVCDecoderConfigurationRecord with one of each. */
export const recordOf = (sps: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from([1, ...sps.subarray(1, 4), 0xff, 0xe1, 0, sps.length]),
    sps,
    Buffer.from([1, 0, PPS.length]),
    PPS,
  ])

export const AVC_CONFIG = recordOf(SPS)

/** An AV1CodecConfigurationRecord of 98x66, and an HEVCDecoderConfigurationRecord of 320x240, as SVT-AV1 and x265 write them. */
export const AV1_CONFIG = Buffer.from('81000c000a0a00000003361826d7c802', 'hex')
export const HEVC_CONFIG = Buffer.from(
  [
    '0101600000009000000000003cf000fcfdf8f800000f03200001001840010c01ffff01600000030090000003000003003c959409210001',
    '002a42010101600000030090000003000003003ca00a080f16595952930bc05a02000003000200000300321022000100064401c073c189',
  ].join(''),
  'hex',
)

/** Low complexity, 44.1 kHz, two channels. */
export const AAC_CONFIG = Buffer.from([0x12, 0x10])

export const message = (type: number, timestamp: number, ...parts: readonly (number[] | Buffer)[]): Message => ({
  type,
  streamId: 1,
  timestamp,
  payload: Buffer.concat(parts.map((part) => (Buffer.isBuffer(part) ? part : Buffer.from(part)))),
})

export const avcConfig = (config: Buffer = AVC_CONFIG): Message => message(MESSAGE.video, 0, [0x17, 0, 0, 0, 0], config)

export const aacConfig = (config: Buffer = AAC_CONFIG): Message => message(MESSAGE.audio, 0, [0xaf, 0], config)

/** A frame with one NAL unit of `bytes` bytes, without meaning to a decoder. */
export function videoFrame(timestamp: number, bytes = 100, { key = true, compositionMs = 0 } = {}): Message {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes)
  const head = Buffer.from([key ? 0x17 : 0x27, 1, 0, 0, 0])
  head.writeIntBE(compositionMs, 2, 3)
  return message(MESSAGE.video, timestamp, head, length, Buffer.alloc(bytes, key ? 0x65 : 0x41))
}

export const audioFrame = (timestamp: number, bytes = 50): Message =>
  message(MESSAGE.audio, timestamp, [0xaf, 1], Buffer.alloc(bytes, 0x21))

/** An aggregate message as in the specification: FLV tags, each followed by its length. */
export function aggregateOf(timestamp: number, parts: readonly Message[]): Message {
  const written = parts.flatMap(({ type, streamId, timestamp: time, payload }) => {
    const head = Buffer.alloc(11)
    head.writeUInt8(type, 0)
    head.writeUIntBE(payload.length, 1, 3)
    head.writeUIntBE(time % 2 ** 24, 4, 3)
    head.writeUInt8(Math.floor(time / 2 ** 24), 7)
    head.writeUIntLE(streamId % 2 ** 24, 8, 3)
    const back = Buffer.alloc(4)
    back.writeUInt32BE(head.length + payload.length)
    return [head, payload, back]
  })
  return message(MESSAGE.aggregate, timestamp, ...written)
}

/** One NAL unit with the number of the picture. @param bytes of it */
export function videoAt(timeUs: number, { key = false, bytes = 100, delayUs = 0 } = {}): Frame {
  const data = Buffer.alloc(4 + bytes, key ? 0x65 : 0x41)
  data.writeUInt32BE(bytes)
  data.writeUInt32BE(timeUs / 40_000, 5)
  return { kind: 'video', timeUs: timeUs + delayUs, decodeTimeUs: timeUs, key, data }
}

export const audioAt = (timeUs: number): Frame => ({
  kind: 'audio',
  timeUs,
  decodeTimeUs: timeUs,
  key: true,
  data: Buffer.alloc(50, 0x21),
})
