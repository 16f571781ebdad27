/** Type, length, message number, offset and length of the fragment (RFC 6347 section 4.2.2). */
const HEADER = 12
const CLIENT_HELLO = 1

interface Progress {
  /** Number of the message that comes next. */
  readonly next: number
  /** Bytes of it that came. */
  readonly taken: number
  /** The one before it may come again: nobody answered it, as far as the client knows. */
  readonly isHello: boolean
  /** Bytes of that one that came again. */
  readonly again: number
}

/**
 * Lets through the messages of a client's handshake once each and in their order. werift takes them as they come, and a flight that
 * comes twice before it was answered makes it derive other keys than the client has. What comes too early is dropped: the
 * client sends the whole flight again. A ClientHello may come again until it was answered, so that the answer comes again.
 */
export class HandshakeOrder {
  #progress: Progress = { next: 0, taken: 0, isHello: false, again: 0 }

  /** Whether to take in the handshake messages in the clear of a record; `body`: the record without its header. */
  takes(body: Buffer): boolean {
    let progress: Progress | null = this.#progress
    for (let at = 0; at < body.length && progress !== null; ) {
      if (body.length < at + HEADER) return false
      const end = at + HEADER + body.readUIntBE(at + 9, 3)
      progress = end > body.length ? null : after(progress, body.subarray(at, end))
      at = end
    }
    if (progress === null || body.length === 0) return false
    this.#progress = progress
    return true
  }
}

/** Null: it is not its turn. */
function after(progress: Progress, message: Buffer): Progress | null {
  const [type, length, number] = [message.readUInt8(0), message.readUIntBE(1, 3), message.readUInt16BE(4)]
  const begin = message.readUIntBE(6, 3)
  const end = begin + message.length - HEADER
  const isEmpty = end === begin && length > 0
  if (end > length || isEmpty) return null
  if (number === progress.next && begin === progress.taken) {
    if (end < length) return { ...progress, taken: end }
    return { next: number + 1, taken: 0, isHello: type === CLIENT_HELLO, again: 0 }
  }
  const isAgain = progress.isHello && type === CLIENT_HELLO && number === progress.next - 1
  if (!isAgain || begin !== progress.again) return null
  return { ...progress, again: end < length ? end : 0 }
}
