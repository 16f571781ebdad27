import { Allowance } from './allowance.ts'
import type { TransportTable } from './transportTable.ts'
import { ufragOf } from './paths.ts'
import type { WebRtcTransport } from './webRtcTransport.ts'
import type { Endpoint } from './socket.ts'
import { looksLikeStun, parseBindingRequest, parseBindingSuccess } from '../wire/stun.ts'

/** As much as the socket in C reads of one. */
const MAX_DATAGRAM = 2048
/** Datagrams each second that come from where nobody is known to be, and sessions that each is held against. */
const STRAYS = { burst: 20, perSecond: 20 }
const MAX_STRAY_TRIES = 4

interface HasTransport {
  readonly transport: WebRtcTransport
}

/** Gives each datagram to the peer that it belongs to: by its first byte (RFC 7983), then by ICE user name or by address. */
export class Demultiplexer<T extends HasTransport> {
  readonly #directory: TransportTable<T>
  readonly #all: () => Iterable<T>
  readonly #strays = new Allowance(STRAYS)

  /** `all`: everybody that there is. */
  constructor(directory: TransportTable<T>, all: () => Iterable<T>) {
    this.#directory = directory
    this.#all = all
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
    const transport = this.#directory.at(from)?.transport
    if (transport === undefined) {
      if (isMedia) this.#receiveStray(datagram, from, nowMs)
    } else if (isMedia) transport.receiveMedia(datagram, from, nowMs)
    else if (first >= 20 && first < 64) transport.receiveDtls(Buffer.from(datagram), from, nowMs)
  }

  #receiveStun(datagram: Buffer, from: Endpoint, nowMs: number): void {
    const request = parseBindingRequest(datagram)
    if (request !== null) {
      this.#directory.named(request.localUfrag)?.transport.receiveCheck(request, from, nowMs)
      return
    }
    const answer = parseBindingSuccess(datagram)
    if (answer !== null)
      this.#directory.named(ufragOf(answer.transactionId))?.transport.receiveAnswer(answer, from, nowMs)
  }

  /**
   * A router may give a peer another port, and the peer does not know: a browser checks every 2.5 seconds, but its media shows
   * it at once.
   */
  #receiveStray(datagram: Buffer, from: Endpoint, nowMs: number): void {
    if (!this.#strays.take(nowMs)) return
    let tries = 0
    for (const { transport } of this.#all()) {
      if (!transport.mayBeAt(from, nowMs)) continue
      if (transport.receiveStray(Buffer.from(datagram), from, nowMs) || ++tries === MAX_STRAY_TRIES) return
    }
  }
}
