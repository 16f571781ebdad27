import { type AmfValue, encodeAmf, uint32 } from './amf0.ts'

/** A message, assembled from its chunks. */
export interface Message {
  readonly type: number
  readonly streamId: number
  /** Milliseconds, modulo 2^32. */
  readonly timestamp: number
  readonly payload: Buffer
}

/** Message types (RTMP 1.0 sections 5.4 and 7.1). */
export const MESSAGE = {
  setChunkSize: 1,
  abort: 2,
  acknowledgement: 3,
  userControl: 4,
  windowSize: 5,
  peerBandwidth: 6,
  audio: 8,
  video: 9,
  dataAmf3: 15,
  commandAmf3: 17,
  data: 18,
  command: 20,
  aggregate: 22,
} as const

/** User control events (section 7.1.7). */
export const EVENT = { streamBegin: 0, streamEof: 1, pingRequest: 6, pingResponse: 7 } as const

/** A message that is sent. */
export interface OutgoingMessage extends Omit<Message, 'payload'> {
  /** What comes before the payload, shorter than a chunk. */
  readonly head?: Buffer
  readonly payload: Uint8Array
}

/** A message in chunks: one full header, then the shortest ones (section 5.3). */
export const writeMessage = (...message: Parameters<typeof chunksOf>): Buffer => Buffer.concat(chunksOf(...message))

/** The pieces of these chunks, without a copy of the payload. */
export function chunksOf(message: OutgoingMessage, { chunkStreamId = 3, chunkBytes = 128 } = {}): Uint8Array[] {
  const { head = NO_HEAD, payload } = message
  const extended = message.timestamp >= 0xff_ffff ? [uint32(message.timestamp)] : []
  const parts: Uint8Array[] = [fullHeader(message, chunkStreamId), ...extended, head]
  for (let at = -head.length; at < payload.length; at += chunkBytes) {
    if (at > -head.length) parts.push(Buffer.from([0xc0 | chunkStreamId]), ...extended)
    parts.push(payload.subarray(Math.max(0, at), at + chunkBytes))
  }
  return parts
}

const NO_HEAD = Buffer.alloc(0)

function fullHeader(message: OutgoingMessage, chunkStreamId: number): Buffer {
  const { type, streamId, timestamp, head = NO_HEAD, payload } = message
  const header = Buffer.alloc(12)
  header.writeUInt8(chunkStreamId, 0)
  header.writeUIntBE(Math.min(timestamp, 0xff_ffff), 1, 3)
  header.writeUIntBE(head.length + payload.length, 4, 3)
  header.writeUInt8(type, 7)
  header.writeUInt32LE(streamId, 8)
  return header
}

/** A protocol control message with one number: acknowledgement, window size, chunk size. */
export const controlMessage = (type: number, value: number): Message => ({
  type,
  streamId: 0,
  timestamp: 0,
  payload: uint32(value),
})

/** Limit type 2, dynamic: the peer may ignore it. */
export const peerBandwidth = (bytes: number): Message => ({
  type: MESSAGE.peerBandwidth,
  streamId: 0,
  timestamp: 0,
  payload: Buffer.concat([uint32(bytes), Buffer.from([2])]),
})

export function userControl(event: number, value: number): Message {
  const payload = Buffer.alloc(6)
  payload.writeUInt16BE(event, 0)
  payload.writeUInt32BE(value, 2)
  return { type: MESSAGE.userControl, streamId: 0, timestamp: 0, payload }
}

/** A command or an answer to one: name, transaction id, arguments. */
export const commandMessage = (streamId: number, ...values: readonly AmfValue[]): Message => ({
  type: MESSAGE.command,
  streamId,
  timestamp: 0,
  payload: encodeAmf(values),
})

/** Type, length, timestamp and message stream of a part, as in an FLV tag; a back pointer with its length follows it. */
const PART_HEADER_BYTES = 11
const BACK_POINTER_BYTES = 4
/** Servers put half a second into one. */
const MAX_PARTS = 1024

/**
 * The messages in an aggregate message (RTMP 1.0 section 7.1.6), up to the first one that is cut short or one too many. Shifts
 * their timestamps so that the first one has the time of the aggregate. The last back pointer may be missing.
 */
export function splitAggregate({ streamId, timestamp, payload }: Message): { parts: Message[]; isWhole: boolean } {
  const parts: Message[] = []
  let firstTime: number | null = null
  for (let at = 0; at < payload.length; ) {
    const from = at + PART_HEADER_BYTES
    const end = from > payload.length ? Number.POSITIVE_INFINITY : from + payload.readUIntBE(at + 1, 3)
    if (end > payload.length || parts.length === MAX_PARTS) return { parts, isWhole: false }
    const time = payload.readUIntBE(at + 4, 3) + payload.readUInt8(at + 7) * 2 ** 24
    firstTime ??= time
    const moved = (timestamp + time - firstTime) >>> 0
    parts.push({ type: payload.readUInt8(at), streamId, timestamp: moved, payload: payload.subarray(from, end) })
    at = end + BACK_POINTER_BYTES
  }
  return { parts, isWhole: true }
}
