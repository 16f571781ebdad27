import { readAv1Transfer, readSequenceHeader } from './av1Config.ts'
import type { JoinedFrame, VideoFormat, VideoReader } from './codec.ts'

/** RTP Payload Format For AV1 (v1.0). A frame is a temporal unit in the low-overhead format: each OBU carries its size. */

const SEQUENCE_HEADER = 1
const TEMPORAL_DELIMITER = 2
const TILE_LIST = 8
const PADDING = 15
const HAS_SIZE = 0x02
const HAS_EXTENSION = 0x04
/** Z, Y and N of the aggregation header: its first element goes on, its last one will, a coded video sequence starts. */
const CONTINUES = 0x80
const IS_CONTINUED = 0x40
const STARTS_SEQUENCE = 0x08
/** The most bytes of an element's length: payloads are shorter than 16,384 bytes. */
const ELEMENT_LENGTH_BYTES = 2
/** The most OBUs in a temporal unit; one frame per layer with its tiles needs far fewer. */
const MAX_OBUS = 1024

export const av1: VideoReader = {
  /** Section 4.4: N marks the first packet of a coded video sequence. */
  isKeyStart: (payload) =>
    ((payload[0] ?? 0) & (CONTINUES | STARTS_SEQUENCE)) === STARTS_SEQUENCE && payload.length > 1,

  join(payloads) {
    const obus = depacketize(payloads)
    if (obus === null) return null
    const data = Buffer.concat(obus.filter(isStored).map(withSize))
    const key = obus.some((obu) => typeOf(obu) === SEQUENCE_HEADER)
    return data.length === 0 ? null : { key, data, format: key ? formatOf(obus) : null }
  },
}

/**
 * A temporal unit in the low-overhead format. Encoders repeat the sequence header where they please, so the publisher says
 * which units begin with a keyframe. Null: it is malformed or empty.
 */
export function av1Frame(unit: Buffer, isMarked: boolean): JoinedFrame | null {
  const obus = splitObus(unit)
  const stored = obus?.filter(isStored) ?? []
  if (obus === null || stored.length === 0) return null
  const data = stored.length === obus.length ? unit : Buffer.concat(stored)
  const key = isMarked && obus.some((obu) => typeOf(obu) === SEQUENCE_HEADER)
  return { key, data, format: key ? formatOf(obus) : null }
}

/**
 * Splits a temporal unit into RTP payloads of at most `maxPayload` bytes (section 4.3): OBUs without their sizes, each element
 * behind its length. Null: the unit is malformed.
 */
export function packetizeAv1(unit: Buffer, key: boolean, maxPayload: number): Buffer[] | null {
  const obus = splitObus(unit)?.filter(isStored).map(withoutSize)
  if (obus === undefined) return null
  const payloads: Buffer[] = []
  let elements: Buffer[] = []
  let room = maxPayload - 1
  let header = key ? STARTS_SEQUENCE : 0
  const flush = (isContinued: boolean): void => {
    payloads.push(Buffer.concat([Buffer.from([header | (isContinued ? IS_CONTINUED : 0)]), ...elements]))
    elements = []
    room = maxPayload - 1
    header = isContinued ? CONTINUES : 0
  }
  for (const obu of obus) {
    for (let at = 0; at < obu.length; ) {
      if (room <= ELEMENT_LENGTH_BYTES) flush(at > 0)
      const part = obu.subarray(at, at + room - ELEMENT_LENGTH_BYTES)
      elements.push(writeLeb128(part.length), part)
      room -= ELEMENT_LENGTH_BYTES + part.length
      at += part.length
    }
  }
  if (elements.length > 0) flush(false)
  return payloads
}

/** Whether this can be an AV1CodecConfigurationRecord (AV1 in ISOBMFF section 2.3.3): marker, version 1 and flags. */
export const isAv1Config = (record: Buffer): boolean => record[0] === 0x81 && record.length >= 4

/** Whether a record says profile main with 8 bits a sample. */
export const isAv1In8Bits = ([, profileAndLevel = 0xff, flags = 0xff]: Uint8Array): boolean =>
  profileAndLevel >> 5 === 0 && (flags & 0x40) === 0

/** transfer_characteristics of a record; null: it has no sequence header. */
export const av1Transfer = (record: Uint8Array): number | null =>
  record.length > RECORD_BYTES ? readAv1Transfer(bodyOf(Buffer.from(record.subarray(RECORD_BYTES)))) : null
/** Of a record, before its OBUs. */
const RECORD_BYTES = 4

/** What the first sequence header says; null: there is none, or it is malformed. */
function formatOf(obus: readonly Buffer[]): VideoFormat | null {
  const header = obus.find((obu) => typeOf(obu) === SEQUENCE_HEADER)
  return header === undefined ? null : readSequenceHeader(withSize(header), bodyOf(header))
}

/** The OBUs of a unit, as views (AV1 section 5.3.1). One without a size is the last. Null: one runs past the unit. */
function splitObus(unit: Buffer): Buffer[] | null {
  const obus: Buffer[] = []
  for (let at = 0; at < unit.length; ) {
    const head = at + headerLength(unit.subarray(at))
    const size =
      (unit.readUInt8(at) & HAS_SIZE) === 0 ? { value: unit.length - head, end: head } : readLeb128(unit, head)
    const end = size === null ? Number.POSITIVE_INFINITY : size.end + size.value
    if (end > unit.length || end <= at || obus.length === MAX_OBUS) return null
    obus.push(unit.subarray(at, end))
    at = end
  }
  return obus
}

const typeOf = (obu: Buffer): number => ((obu[0] ?? 0) >> 3) & 15
const isStored = (obu: Buffer): boolean => ![TEMPORAL_DELIMITER, TILE_LIST, PADDING].includes(typeOf(obu))

/** The OBUs of all packets, with fragments joined; null when a fragment is missing (section 4.3). */
function depacketize(payloads: readonly Buffer[]): Buffer[] | null {
  const obus: Buffer[] = []
  let fragments: Buffer[] = []
  for (const payload of payloads) {
    const elements = readElements(payload)
    const header = payload[0] ?? 0
    const continues = (header & CONTINUES) !== 0
    if (elements === null || continues !== fragments.length > 0) return null
    for (const [index, element] of elements.entries()) {
      fragments.push(element)
      const isContinued = index === elements.length - 1 && (header & IS_CONTINUED) !== 0
      if (isContinued) continue
      obus.push(fragments.length === 1 ? element : Buffer.concat(fragments))
      fragments = []
    }
    if (obus.length > MAX_OBUS) return null
  }
  return fragments.length === 0 && obus.every(({ length }) => length > 0) ? obus : null
}

/** The OBU elements of one packet. W counts them, and the last has no length; when W is 0, each has a length. */
function readElements(payload: Buffer): Buffer[] | null {
  const count = ((payload[0] ?? 0) >> 4) & 3
  const elements: Buffer[] = []
  let at = 1
  while (at < payload.length && elements.length < MAX_OBUS) {
    if (count > 0 && elements.length === count - 1) {
      elements.push(payload.subarray(at))
      return elements
    }
    const size = readLeb128(payload, at)
    if (size === null || size.end + size.value > payload.length) return null
    elements.push(payload.subarray(size.end, size.end + size.value))
    at = size.end + size.value
  }
  return count === 0 && elements.length > 0 && at === payload.length ? elements : null
}

/** AV1 section 4.10.5; 5 bytes hold 32 bits. */
function readLeb128(bytes: Buffer, start: number): { value: number; end: number } | null {
  let value = 0
  for (let i = 0; i < 5; i++) {
    const byte = bytes[start + i]
    if (byte === undefined) return null
    value += (byte & 0x7f) * 2 ** (7 * i)
    if (byte < 0x80) return { value, end: start + i + 1 }
  }
  return null
}

const headerLength = (obu: Buffer): number => (((obu[0] ?? 0) & HAS_EXTENSION) === 0 ? 1 : 2)

/** The OBU without its header and its size field. */
function bodyOf(obu: Buffer): Buffer {
  const start = headerLength(obu)
  if (((obu[0] ?? 0) & HAS_SIZE) === 0) return obu.subarray(start)
  const size = readLeb128(obu, start)
  return size === null ? obu.subarray(obu.length) : obu.subarray(size.end, size.end + size.value)
}

function withSize(obu: Buffer): Buffer {
  if (((obu[0] ?? 0) & HAS_SIZE) !== 0) return obu
  const header = Buffer.from(obu.subarray(0, headerLength(obu)))
  header[0] = (header[0] ?? 0) | HAS_SIZE
  const body = bodyOf(obu)
  return Buffer.concat([header, writeLeb128(body.length), body])
}

function withoutSize(obu: Buffer): Buffer {
  if (((obu[0] ?? 0) & HAS_SIZE) === 0) return obu
  const header = Buffer.from(obu.subarray(0, headerLength(obu)))
  header[0] = (header[0] ?? 0) & ~HAS_SIZE
  return Buffer.concat([header, bodyOf(obu)])
}

function writeLeb128(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  do {
    bytes.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0))
    rest >>>= 7
  } while (rest > 0)
  return Buffer.from(bytes)
}
