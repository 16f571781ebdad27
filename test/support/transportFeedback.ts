/** One packet of a message of transport-wide feedback. */
interface PacketFate {
  /** Transport-wide sequence number. */
  readonly sequence: number
  /** Arrival at the other end in microseconds of its clock (modulo 2^24 * 64 ms); null: not received. */
  readonly arrivalUs: number | null
}

/** The messages of transport-wide feedback in a compound of RTCP. */
export function transportFeedbackIn(compound: Buffer): Buffer[] {
  const found: Buffer[] = []
  for (let at = 0; at < compound.length; ) {
    const end = at + 4 + compound.readUInt16BE(at + 2) * 4
    const [format, type] = [compound.readUInt8(at) & 31, compound.readUInt8(at + 1)]
    if (type === 205 && format === 15) found.push(compound.subarray(at, end))
    at = end
  }
  return found
}

/** What a sender reads of a message (draft-holmer-rmcat-transport-wide-cc-extensions-01 section 3.1). */
export function fatesOf(message: Buffer): readonly PacketFate[] {
  const [base, count] = [message.readUInt16BE(12), message.readUInt16BE(14)]
  const statuses: number[] = []
  let at = 20
  for (; statuses.length < count; at += 2) statuses.push(...statusesOf(message.readUInt16BE(at)))
  let us = message.readUIntBE(16, 3) * 64_000
  return statuses.slice(0, count).map((status, index) => {
    const sequence = (base + index) & 0xffff
    if (status === 0) return { sequence, arrivalUs: null }
    us += 250 * (status === 1 ? message.readUInt8(at) : message.readInt16BE(at))
    at += status
    return { sequence, arrivalUs: us }
  })
}

/** 0: not received; 1 and 2: with a delta of so many bytes. */
function statusesOf(chunk: number): number[] {
  if (chunk < 0x8000) return Array.from({ length: chunk & 0x1fff }, () => chunk >> 13)
  if (chunk < 0xc000) return Array.from({ length: 14 }, (_, index) => (chunk >> (13 - index)) & 1)
  return Array.from({ length: 7 }, (_, index) => (chunk >> (12 - index * 2)) & 3)
}
