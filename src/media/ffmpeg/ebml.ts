/**
 * EBML (RFC 8794): an element consists of an id, a size and a payload. Ids include their length marker, as in the
 * specification.
 */

/** A size of all ones: the element ends where one follows that it cannot contain (RFC 8794 section 6.2). */
const UNKNOWN_SIZE = Uint8Array.of(0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)

const encoder = new TextEncoder()

/** An element of known size; its payload is the parts, joined. */
export function element(id: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const size = parts.reduce((sum, part) => sum + part.length, 0)
  return join([idBytes(id), sizeBytes(size), ...parts])
}

/** The header of an element of unknown size. */
export const openElement = (id: number): Uint8Array => join([idBytes(id), UNKNOWN_SIZE])

/**
 * An element with an unsigned integer.
 * @throws RangeError for a negative or unsafe one
 */
export const uint = (id: number, value: number): Uint8Array => element(id, bigEndian(value))

export const textElement = (id: number, value: string): Uint8Array => element(id, encoder.encode(value))

export function float(id: number, value: number): Uint8Array {
  const payload = new Uint8Array(8)
  new DataView(payload.buffer).setFloat64(0, value)
  return element(id, payload)
}

const idBytes = (id: number): Uint8Array => bigEndian(id)

/** Eight bytes hold any size; a small one takes one byte. */
function sizeBytes(size: number): Uint8Array {
  if (size < 0x7f) return Uint8Array.of(0x80 | size)
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(size) | (1n << 56n))
  return bytes
}

function bigEndian(value: number): Uint8Array {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${value} is not an unsigned integer`)
  const bytes: number[] = []
  for (let rest = value; rest > 0 || bytes.length === 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256)
  return Uint8Array.from(bytes)
}

export function join(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    joined.set(part, at)
    at += part.length
  }
  return joined
}
