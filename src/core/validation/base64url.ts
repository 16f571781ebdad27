const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const INVALID = 255

/** The value of each ASCII character; `INVALID` outside of the alphabet. */
const VALUES = new Uint8Array(128).fill(INVALID)
for (let i = 0; i < ALPHABET.length; i++) VALUES[ALPHABET.charCodeAt(i)] = i

/**
 * Decodes unpadded base64url (RFC 7515 section 2) from `start` up to `end`. Null for padding, for characters outside
 * of the alphabet, and for unused bits that are not zero, so that no two texts decode to the same bytes.
 */
export function decodeBase64url(text: string, start = 0, end = text.length): Uint8Array<ArrayBuffer> | null {
  if ((end - start) % 4 === 1) return null
  const bytes = new Uint8Array(((end - start) * 3) >> 2)
  let bits = 0
  let held = 0
  let length = 0
  for (let i = start; i < end; i++) {
    const value = VALUES[text.charCodeAt(i)] ?? INVALID
    if (value === INVALID) return null
    bits = ((bits << 6) | value) & 0xfff
    held += 6
    if (held >= 8) {
      held -= 8
      bytes[length++] = bits >> held
    }
  }
  return (bits & ((1 << held) - 1)) === 0 ? bytes : null
}
