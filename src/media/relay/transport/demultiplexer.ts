import { looksLikeStun, parseBindingRequest, parseBindingSuccess } from '../wire/stun.ts'
import { Allowance } from '../../../base/allowance.ts'
import type { Handshakes } from './handshakes.ts'
import { ufragOf } from './paths.ts'
import type { Endpoint } from './socket.ts'
import type { TransportTable } from './transportTable.ts'
import type { WebRtcTransport } from './webRtcTransport.ts'

/** The native socket reads no more of a datagram. */
const MAX_DATAGRAM = 2048
/** Datagrams per second from unknown addresses, and transports that each is tried with. */
const STRAYS = { burst: 20, perSecond: 20 }
const MAX_STRAY_TRIES = 4

/** Finds the transport of a datagram: by its first byte (RFC 7983), then by ICE user name or by address. */
export class Demultiplexer {
  readonly #table: TransportTable<WebRtcTransport>
  readonly #handshakes: Handshakes
  readonly #strays = new Allowance(STRAYS)

  constructor(table: TransportTable<WebRtcTransport>, handshakes: Handshakes) {
    this.#table = table
    this.#handshakes = handshakes
  }

  receive(datagram: Buffer, from: Endpoint, nowMs: number): void {
    // Nothing can be sent to port 0, and no packet of a peer is that long.
    if (from.port === 0 || datagram.length > MAX_DATAGRAM) return
    const first = datagram[0] ?? 255
    if (first < 4) {
      if (looksLikeStun(datagram)) this.#receiveStun(datagram, from, nowMs)
      return
    }
    const isMedia = first >= 128 && first < 192
    const transport = this.#table.at(from)
    if (transport === undefined) {
      if (isMedia) this.#receiveStray(datagram, from, nowMs)
    } else if (isMedia) transport.receiveMedia(datagram, from, nowMs)
    else if (first >= 20 && first < 64) this.#receiveDtls(transport, Buffer.from(datagram), from, nowMs)
  }

  #receiveDtls(transport: WebRtcTransport, datagram: Buffer, from: Endpoint, nowMs: number): void {
    if (transport.isConnected) transport.receiveDtls(datagram, from, nowMs)
    else this.#handshakes.put(transport, datagram, from)
  }

  #receiveStun(datagram: Buffer, from: Endpoint, nowMs: number): void {
    const request = parseBindingRequest(datagram)
    if (request !== null) {
      this.#table.named(request.localUfrag)?.receiveCheck(request, from, nowMs)
      return
    }
    const answer = parseBindingSuccess(datagram)
    if (answer !== null) this.#table.named(ufragOf(answer.transactionId))?.receiveAnswer(answer, from, nowMs)
  }

  /** A NAT may give a peer another port without its knowledge. A browser checks every 2.5 s, but its media shows it at once. */
  #receiveStray(datagram: Buffer, from: Endpoint, nowMs: number): void {
    if (!this.#strays.take(nowMs)) return
    let tries = 0
    for (const transport of this.#table.all()) {
      if (!transport.mayBeAt(from, nowMs)) continue
      if (transport.receiveStray(Buffer.from(datagram), from, nowMs) || ++tries === MAX_STRAY_TRIES) return
    }
  }
}
