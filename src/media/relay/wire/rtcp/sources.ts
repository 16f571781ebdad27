import { blank, MAX_COUNT, readWords, type RtcpPacket } from './packet.ts'

/** Names of sources, and their departure (RFC 3550 sections 6.5 and 6.6). */

export const SDES = 202
export const BYE = 203
const CNAME = 1

export function parseSdes(body: Buffer, count: number): RtcpPacket | null {
  const chunks: { ssrc: number; cname: string | null }[] = []
  let at = 4
  for (let i = 0; i < count; i++) {
    if (at + 4 > body.length) return null
    const items = readSdesItems(body, at + 4)
    if (items === null) return null
    chunks.push({ ssrc: body.readUInt32BE(at), cname: items.cname })
    at = items.end
  }
  return { kind: 'sdes', chunks }
}

/** Items up to the zero that ends a chunk, and on to its next word. */
function readSdesItems(body: Buffer, start: number): { cname: string | null; end: number } | null {
  let cname: string | null = null
  let at = start
  while (at < body.length) {
    const type = body.readUInt8(at)
    if (type === 0) return { cname, end: (at + 4) & ~3 }
    if (at + 2 > body.length) return null
    const end = at + 2 + body.readUInt8(at + 1)
    if (end > body.length) return null
    if (type === CNAME) cname = body.toString('utf8', at + 2, end)
    at = end
  }
  // Some senders leave the zero out when the chunk fills its words.
  return { cname, end: body.length }
}

export function parseBye(body: Buffer, count: number): RtcpPacket | null {
  const ssrcs = readWords(body, 4, count)
  return ssrcs === null ? null : { kind: 'bye', ssrcs }
}

/** One chunk with a CNAME of at most 255 bytes. */
export function writeSdes(ssrc: number, cname: string): Buffer {
  const name = Buffer.from(cname).subarray(0, 255)
  // The chunk ends with at least one zero, on a word.
  const packet = blank(SDES, 1, 8 + ((2 + name.length + 4) & ~3))
  packet.writeUInt32BE(ssrc >>> 0, 4)
  packet[8] = CNAME
  packet[9] = name.length
  name.copy(packet, 10)
  return packet
}

export function writeBye(ssrcs: readonly number[]): Buffer {
  const some = ssrcs.slice(0, MAX_COUNT)
  const packet = blank(BYE, some.length, 4 + some.length * 4)
  for (const [index, ssrc] of some.entries()) packet.writeUInt32BE(ssrc >>> 0, 4 + index * 4)
  return packet
}
