/** Bytes of a record's header (RFC 6347 section 4.1). */
export const RECORD_HEADER = 13
/** Content types (RFC 5246 section 6.2.1). */
export const ALERT = 21
export const HANDSHAKE = 22

const CLIENT_HELLO = 1
const HELLO_VERIFY_REQUEST = 3
/** In a ClientHello: after the header of the message, the version and the random bytes. */
const SESSION_ID_AT = 12 + 2 + 32

/** Whether a datagram of ours only asks for a cookie. It may go to an address without a proof then. */
export const isHelloVerifyRequest = (datagram: Uint8Array): boolean =>
  datagram[0] === HANDSHAKE && datagram[RECORD_HEADER] === HELLO_VERIFY_REQUEST

/**
 * The cookie of a ClientHello (RFC 6347 section 4.2.1), empty in the first one; null for other messages and later fragments.
 * `body`: a record without its header.
 */
export function cookieIn(body: Buffer): Buffer | null {
  if (body.length <= SESSION_ID_AT || body[0] !== CLIENT_HELLO || body.readUIntBE(6, 3) !== 0) return null
  const at = SESSION_ID_AT + 1 + body.readUInt8(SESSION_ID_AT)
  const end = at + 1 + (body[at] ?? 0)
  return at < body.length && end <= body.length ? body.subarray(at + 1, end) : null
}

/** The records of a datagram (RFC 6347 section 4.1) up to the first that is cut short. */
export function recordsOf(datagram: Buffer): Buffer[] {
  const records: Buffer[] = []
  let at = 0
  while (at + RECORD_HEADER <= datagram.length) {
    const end = at + RECORD_HEADER + datagram.readUInt16BE(at + 11)
    if (end > datagram.length) break
    records.push(datagram.subarray(at, end))
    at = end
  }
  return records
}
