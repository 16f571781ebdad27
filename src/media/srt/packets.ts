/** Packets of SRT, draft-sharabayko-srt-01 section 3. Readers take any bytes. */

/** Of each packet, in front of what it carries. */
export const HEAD_BYTES = 16
const CONTROL_BIT = 0x8000_0000

/** Types of control packets (table 1). */
export const CONTROL = {
  handshake: 0,
  keepAlive: 1,
  ack: 2,
  nak: 3,
  shutdown: 5,
  ackAck: 6,
  dropRequest: 7,
  /** The subtype tells what it is. */
  userDefined: 0x7fff,
} as const

/** Subtypes of user-defined control packets. */
export const KEY_REQUEST = 3
export const KEY_RESPONSE = 4

export interface ControlPacket {
  readonly kind: 'control'
  readonly type: number
  readonly subtype: number
  /** What the second word is depends on the type. */
  readonly info: number
  readonly socketId: number
  readonly body: Buffer
}

export interface DataPacket {
  readonly kind: 'data'
  readonly sequence: number
  /** Which key it is encrypted with: 1 is the even one, 2 the odd one, 0 none. */
  readonly key: number
  readonly socketId: number
  readonly body: Buffer
}

/** The body is a view; null: too short. */
export function readPacket(bytes: Buffer): ControlPacket | DataPacket | null {
  if (bytes.length < HEAD_BYTES) return null
  const [first, info, socketId] = [bytes.readUInt32BE(0), bytes.readUInt32BE(4), bytes.readUInt32BE(12)]
  const body = bytes.subarray(HEAD_BYTES)
  if (first >= CONTROL_BIT) {
    return { kind: 'control', type: (first >>> 16) & 0x7fff, subtype: first & 0xffff, info, socketId, body }
  }
  return { kind: 'data', sequence: first, key: (info >>> 27) & 3, socketId, body }
}

/** A packet that is a whole message. */
const SOLO = 0xc000_0000
const IN_ORDER = 0x2000_0000
const RESENT = 0x0400_0000
const MESSAGE_NUMBERS = 2 ** 26

export interface DataFields extends Omit<DataPacket, 'kind' | 'body'> {
  /** It counts messages; the lowest 26 bits are sent. */
  readonly message: number
  /** Microseconds since the connection began; the lowest 32 bits count. */
  readonly timeUs: number
}

/** Writes the head of a data packet, for which it has room. */
export function writeDataHead(packet: Buffer, { sequence, key, socketId, message, timeUs }: DataFields): void {
  packet.writeUInt32BE(sequence, 0)
  packet.writeUInt32BE(SOLO + IN_ORDER + key * 2 ** 27 + (message % MESSAGE_NUMBERS), 4)
  packet.writeUInt32BE(Math.floor(timeUs) % 2 ** 32, 8)
  packet.writeUInt32BE(socketId, 12)
}

/** In a data packet that was written. */
export function markResent(packet: Buffer): void {
  packet.writeUInt32BE((packet.readUInt32BE(4) | RESENT) >>> 0, 4)
}

export interface ControlFields {
  readonly type: number
  readonly subtype?: number
  readonly info?: number
  /** Of the receiver; 0 before it is known. */
  readonly socketId: number
  /** Microseconds since the connection began; the lowest 32 bits count. */
  readonly timeUs: number
  readonly body?: Buffer
}

const NONE = Buffer.alloc(0)

export function writeControl({ type, subtype = 0, info = 0, socketId, timeUs, body = NONE }: ControlFields): Buffer {
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeUInt32BE(CONTROL_BIT + type * 2 ** 16 + subtype, 0)
  head.writeUInt32BE(info, 4)
  head.writeUInt32BE(Math.floor(timeUs) % 2 ** 32, 8)
  head.writeUInt32BE(socketId, 12)
  return Buffer.concat([head, body])
}

/** Fits into one packet of 1500 bytes. */
const LOSSES_MAX_WORDS = 360

/** First and last sequence number of each range of lost packets (appendix A). Ranges that do not fit are left out. */
export function writeLosses(ranges: readonly (readonly [number, number])[]): Buffer {
  const words: number[] = []
  for (const [first, last] of ranges) {
    if (words.length + 2 > LOSSES_MAX_WORDS) break
    if (first === last) words.push(first)
    else words.push(first + CONTROL_BIT, last)
  }
  const bytes = Buffer.alloc(words.length * 4)
  words.forEach((word, at) => bytes.writeUInt32BE(word, at * 4))
  return bytes
}

/** The ranges of a report, as far as they add up. */
export function readLosses(body: Buffer): [number, number][] {
  const ranges: [number, number][] = []
  for (let at = 0; at + 4 <= body.length; at += 4) {
    const word = body.readUInt32BE(at)
    if (word < CONTROL_BIT) ranges.push([word, word])
    else {
      at += 4
      if (at + 4 > body.length) break
      ranges.push([word - CONTROL_BIT, body.readUInt32BE(at) % CONTROL_BIT])
    }
  }
  return ranges
}

export interface Acknowledgement {
  /** The first packet that has not come. */
  readonly sequence: number
  readonly roundTripUs: number
  readonly roundTripVarianceUs: number
  /** How many packets the receiver has room for. */
  readonly freePackets: number
  readonly packetsPerSecond: number
  readonly bytesPerSecond: number
}

/** The body of a full acknowledgement (section 3.2.4). */
export function writeAcknowledgement(ack: Acknowledgement): Buffer {
  const { sequence, roundTripUs, roundTripVarianceUs, freePackets, packetsPerSecond, bytesPerSecond } = ack
  // The capacity of the link is not measured: live senders do not read it.
  const words = [
    sequence,
    roundTripUs,
    roundTripVarianceUs,
    freePackets,
    packetsPerSecond,
    packetsPerSecond,
    bytesPerSecond,
  ]
  const bytes = Buffer.alloc(words.length * 4)
  words.forEach((word, at) => bytes.writeUInt32BE(Math.min(0xffff_ffff, Math.round(word)), at * 4))
  return bytes
}

/** `sequence` alone is there in a light one; null: too short. */
export function readAcknowledgement(body: Buffer): { sequence: number; roundTripMs: number | null } | null {
  if (body.length < 4) return null
  const roundTripMs = body.length < 8 ? null : body.readUInt32BE(4) / 1000
  return { sequence: body.readUInt32BE(0) % CONTROL_BIT, roundTripMs }
}
