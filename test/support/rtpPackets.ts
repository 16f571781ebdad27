import { type RtpFields, writeRtpHeader } from '../../src/media/relay/wire/rtp.ts'

const HEADER_BYTES = 12

export interface ExtensionElement {
  /** 1 to 14 in the one-byte form, up to 255 otherwise. */
  readonly id: number
  readonly value: Uint8Array
}

/** A packet with the 12 bytes of header, the extensions if there are any, and the payload. */
export function writeRtp(fields: RtpFields, payload: Uint8Array, extensions: readonly ExtensionElement[] = []): Buffer {
  const extension = writeExtensions(extensions)
  const packet = Buffer.allocUnsafe(HEADER_BYTES + extension.length + payload.length)
  writeRtpHeader(packet, fields, fields.sequence)
  if (extension.length > 0) packet[0] = 0x90
  packet.set(extension, HEADER_BYTES)
  packet.set(payload, HEADER_BYTES + extension.length)
  return packet
}

function writeExtensions(elements: readonly ExtensionElement[]): Buffer {
  if (elements.length === 0) return Buffer.alloc(0)
  const short = elements.every(({ id, value }) => id < 15 && value.length >= 1 && value.length <= 16)
  const parts = elements.flatMap(({ id, value }) => [
    Buffer.from(short ? [(id << 4) | (value.length - 1)] : [id, value.length]),
    value,
  ])
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  const words = (length + 3) >> 2
  const header = Buffer.alloc(4)
  header.writeUInt16BE(short ? 0xbede : 0x1000)
  header.writeUInt16BE(words, 2)
  return Buffer.concat([header, ...parts, Buffer.alloc(words * 4 - length)])
}
