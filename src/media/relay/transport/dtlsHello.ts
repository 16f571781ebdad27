import type { DtlsServer, Transport } from 'werift'

const CLIENT_HELLO = 1
/** In a ClientHello without the header of the message: behind the version and the random bytes. */
const SESSION_ID_AT = 2 + 32

type Message = Parameters<DtlsServer['onHandleHandshakes']>[0][number]

/**
 * Answers the first ClientHello of a peer whose address has proved itself. werift would ask for a cookie, which proves the same and
 * takes a round trip (RFC 6347 section 4.2.1). Its question is dropped, and it finds its cookie in the same message. That goes as it
 * came into what both sides sign, and the answer to it is the first message of the server.
 */
export function answerProved(peer: DtlsServer, transport: Transport, isProved: () => boolean): void {
  const { dtls, onHandleHandshakes: handle } = peer
  let isAnswered = false
  const keep = dtls.bufferHandshakeCache.bind(dtls)
  dtls.bufferHandshakeCache = (messages, isLocal, flight) => {
    if (isAnswered && messages[0]?.msg_type === CLIENT_HELLO) dtls.sequenceNumber = 0
    keep(messages, isLocal, flight)
  }
  peer.onHandleHandshakes = async (messages) => {
    const [hello] = messages
    if (hello?.msg_type !== CLIENT_HELLO || cookieBytes(hello) > 0) return handle(messages)
    if (!isAnswered && (dtls.flight > 0 || !isProved())) return handle(messages)
    const isFirst = !isAnswered
    isAnswered = true
    if (isFirst) await askUnheard(transport, () => handle(messages))
    const { fragment } = hello
    hello.fragment = withCookie(hello, dtls.cookie ?? Buffer.alloc(0))
    const answered = handle([hello])
    hello.fragment = fragment
    return answered
  }
}

function askUnheard(transport: Transport, ask: () => Promise<void>): Promise<void> {
  const { send } = transport
  transport.send = async () => undefined
  const asked = ask()
  transport.send = send
  return asked
}

const cookieAt = ({ fragment }: Message): number => SESSION_ID_AT + 1 + (fragment[SESSION_ID_AT] ?? 0)

const cookieBytes = (hello: Message): number => hello.fragment[cookieAt(hello)] ?? 0

function withCookie(hello: Message, cookie: Buffer): Buffer {
  const [at, { fragment }] = [cookieAt(hello), hello]
  return Buffer.concat([fragment.subarray(0, at), Buffer.from([cookie.length]), cookie, fragment.subarray(at + 1)])
}
