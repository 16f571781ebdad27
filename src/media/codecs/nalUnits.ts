/** NAL units of H.264 and H.265: in frames, where each has its length in front of it, and in RTP payloads. */

/** How a codec writes NAL units into RTP payloads: RFC 6184 for H.264, RFC 7798 for H.265. */
export interface NalPayloads {
  /** Of a unit, and in front of what a packet has. */
  readonly headerBytes: 1 | 2
  /** The types of a packet with several units, and of one with a part of a unit. */
  readonly aggregation: number
  readonly fragment: number
  /** The bits of the type in the header of a fragment. */
  readonly typeBits: number
  typeOf(payload: Buffer): number
  /** Whether a packet of this type is one unit. */
  isUnit(type: number): boolean
  /** The header of a unit, with another type. */
  withType(nal: Buffer, type: number): Buffer
  aggregationHeader(nals: readonly Buffer[]): Buffer
}

/** The most NAL units in one frame; a hundred slices stay far below it. */
export const MAX_NALS = 1024
/** The most of them in one packet. Several hundred of a byte each would fit, and each packet is looked at for the beginning of a keyframe. */
const MAX_AGGREGATED = 64
const FIRST_FRAGMENT = 0x80
const LAST_FRAGMENT = 0x40

/** A unit behind its length of 16 bits, as packets and configurations have it. */
export const withLength = (nal: Buffer): Buffer[] => [Buffer.from([nal.length >> 8, nal.length & 255]), nal]

/** The same with lengths of 32 bits, as frames have it. */
export function lengthPrefixed(nals: readonly Buffer[]): Buffer {
  const parts = nals.flatMap((nal) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(nal.length)
    return [length, nal]
  })
  return Buffer.concat(parts)
}

/** The NAL units of a frame, as views; null when a length runs past the frame or there are too many units. */
export function splitNals(frame: Buffer): Buffer[] | null {
  const nals: Buffer[] = []
  let [at, count] = [0, 0]
  while (at < frame.length) {
    if (at + 4 > frame.length || count++ === MAX_NALS) return null
    const end = at + 4 + frame.readUInt32BE(at)
    if (end > frame.length) return null
    if (end > at + 4) nals.push(frame.subarray(at + 4, end))
    at = end
  }
  return nals
}

/** The units in the payloads of one frame. Null when a fragment is missing or the type of a packet is not allowed. */
export function depacketize(payloads: readonly Buffer[], form: NalPayloads): Buffer[] | null {
  const nals: Buffer[] = []
  let fragments: Buffer[] | null = null
  for (const payload of payloads) {
    const type = form.typeOf(payload)
    if (type === form.fragment) {
      fragments = addFragment(fragments, payload, form)
      if (fragments === null) return null
      if (((payload[form.headerBytes] ?? 0) & LAST_FRAGMENT) === 0) continue
      nals.push(Buffer.concat(fragments))
      fragments = null
    } else {
      const whole = type === form.aggregation ? aggregated(payload, form) : singleUnit(payload, form)
      if (fragments !== null || whole === null) return null
      nals.push(...whole)
    }
    if (nals.length > MAX_NALS) return null
  }
  return fragments === null ? nals : null
}

const singleUnit = (payload: Buffer, form: NalPayloads): Buffer[] | null =>
  payload.length >= form.headerBytes && form.isUnit(form.typeOf(payload)) ? [payload] : null

/** Appends the next fragment to `fragments`; null when it does not follow them (RFC 6184 5.8, RFC 7798 4.4.3). */
function addFragment(fragments: Buffer[] | null, payload: Buffer, form: NalPayloads): Buffer[] | null {
  if (payload.length < form.headerBytes + 2) return null
  const header = payload.readUInt8(form.headerBytes)
  const isStart = (header & FIRST_FRAGMENT) !== 0
  if (isStart !== (fragments === null)) return null
  const begun = fragments ?? [form.withType(payload, header & form.typeBits)]
  begun.push(payload.subarray(form.headerBytes + 1))
  return begun
}

/** The units of a packet that has several (RFC 6184 5.7.1, RFC 7798 4.4.2); null when it is malformed, or has too many. */
export function aggregated(payload: Buffer, { headerBytes }: NalPayloads): Buffer[] | null {
  const nals: Buffer[] = []
  let at: number = headerBytes
  while (at + 2 <= payload.length) {
    const end = at + 2 + payload.readUInt16BE(at)
    if (end > payload.length || end < at + 2 + headerBytes || nals.length === MAX_AGGREGATED) return null
    nals.push(payload.subarray(at + 2, end))
    at = end
  }
  return at === payload.length && nals.length > 0 ? nals : null
}

/**
 * Splits NAL units into RTP payloads of at most `maxPayload` bytes; the caller sets the marker on the last. Small adjacent units,
 * such as parameter sets, share a packet.
 */
export function packetizeNals(nals: readonly Buffer[], maxPayload: number, form: NalPayloads): Buffer[] {
  const payloads: Buffer[] = []
  let shared: Buffer[] = []
  let sharedSize: number = form.headerBytes
  const flush = () => {
    const [only] = shared
    if (only !== undefined) payloads.push(shared.length === 1 ? only : aggregate(shared, form))
    shared = []
    sharedSize = form.headerBytes
  }
  for (const nal of nals) {
    if (sharedSize + 2 + nal.length > maxPayload || shared.length === MAX_AGGREGATED) flush()
    if (nal.length > maxPayload) payloads.push(...fragment(nal, maxPayload, form))
    else {
      shared.push(nal)
      sharedSize += 2 + nal.length
    }
  }
  flush()
  return payloads
}

function aggregate(nals: readonly Buffer[], form: NalPayloads): Buffer {
  return Buffer.concat([form.aggregationHeader(nals), ...nals.flatMap(withLength)])
}

function fragment(nal: Buffer, maxPayload: number, form: NalPayloads): Buffer[] {
  const { headerBytes } = form
  const count = Math.ceil((nal.length - headerBytes) / (maxPayload - headerBytes - 1))
  const size = Math.ceil((nal.length - headerBytes) / count)
  const head = form.withType(nal, form.fragment)
  return Array.from({ length: count }, (_, index) => {
    const position = (index === 0 ? FIRST_FRAGMENT : 0) | (index === count - 1 ? LAST_FRAGMENT : 0)
    const part = nal.subarray(headerBytes + index * size, headerBytes + (index + 1) * size)
    return Buffer.concat([head, Buffer.from([position | form.typeOf(nal)]), part])
  })
}
