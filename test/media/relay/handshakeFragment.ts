/** A message of a handshake of DTLS. */
interface Message {
  readonly type: number
  readonly number: number
  readonly length: number
}

/** The bytes of a message from `begin` to `end`, with their head (RFC 6347 section 4.2.2). */
export function fragment({ type, number, length }: Message, begin: number, end: number): Buffer {
  const body = Buffer.alloc(12 + end - begin, number)
  body.writeUInt8(type, 0)
  body.writeUIntBE(length, 1, 3)
  body.writeUInt16BE(number, 4)
  body.writeUIntBE(begin, 6, 3)
  body.writeUIntBE(end - begin, 9, 3)
  return body
}
