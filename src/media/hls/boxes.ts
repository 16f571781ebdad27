/** Writers of boxes (ISO/IEC 14496-12) and of their fields. */

export const u16 = (value: number): Buffer => Buffer.from([value >> 8, value & 0xff])
export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value >>> 0)
  return bytes
}
export function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(value))
  return bytes
}
export const zeros = (count: number): Buffer => Buffer.alloc(count)
export const ascii = (text: string): Buffer => Buffer.from(text, 'latin1')

export function box(type: string, ...content: readonly Uint8Array[]): Buffer {
  const size = content.reduce((sum, { length }) => sum + length, 8)
  return Buffer.concat([u32(size), ascii(type), ...content], size)
}

export const full = (type: string, version: number, flags: number, ...content: readonly Uint8Array[]): Buffer =>
  box(type, u32(version * 0x1000000 + flags), ...content)
