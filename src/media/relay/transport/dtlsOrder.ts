/** Type, length, message number, offset and length of the fragment (RFC 6347 section 4.2.2). */
const HEADER = 12
const CLIENT_HELLO = 1

interface Progress {
  /** The number of the next message. */
  readonly next: number
  /** Bytes of it that arrived. */
  readonly taken: number
  /** The message before it was a ClientHello, which the client may repeat until it has an answer. */
  readonly isHello: boolean
  /** Bytes of the repeated ClientHello that arrived. */
  readonly again: number
}

/**
 * Passes each message of a client's handshake once and in order. werift takes messages as they arrive: a flight that arrives
 * twice before its answer makes it derive other keys than the client. A message that arrives too early is dropped: the client
 * retransmits the whole flight. A repeated ClientHello passes until it was answered, so that its answer is repeated.
 */
export class HandshakeOrder {
  #progress: Progress = { next: 0, taken: 0, isHello: false, again: 0 }

  /** Whether to accept the unencrypted handshake messages of a record. `body`: the record without its header. */
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

/** Null: the message is out of order. */
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
