import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Sendfile } from '../../base/sendfile.ts'

/** A body that is in memory and, the same bytes, in a file that the addon holds; 0: in memory only. */
export interface Body {
  readonly bytes: Buffer
  readonly file: number
}

/** More than this would keep the others waiting: a quarter of a millisecond. */
const TURN_BYTES = 1024 * 1024
/** When the socket is full, so much goes through Node, which tells when there is room again. */
const PIECE_BYTES = 16 * 1024

/** What Node keeps of a socket and of an answer beside its documented interface. `transferProof.ts` proves it at each start. */
interface Handle {
  readonly fd: number
  readonly writeQueueSize: number
}
type Internals = { readonly _handle?: Partial<Handle> | null }
type Answer = ServerResponse & { readonly _header?: unknown; _headerSent?: boolean }

/**
 * The body of an answer on its way to the kernel, without a copy of ours: by sendfile(2) as long as the socket takes it, a
 * small piece through Node when it is full. Whatever the addon cannot do goes through Node too, out of memory.
 */
export class Transfer {
  readonly #sendfile: Sendfile
  readonly #answer: Answer
  readonly #socket: Socket
  readonly #body: Body
  #mayUseFile = true
  #isHandedOver = false
  #bytesOut = 0
  /** Bytes of the body that Node has in hand. */
  #inNode = 0

  /**
   * Sends the head that was written to `answer`, which nobody has flushed, and its body, and ends it. Null: nothing was
   * done, and the caller sends the body through Node.
   */
  static begin(sendfile: Sendfile, answer: ServerResponse, body: Body): Transfer | null {
    const { socket } = answer
    const { _header: head }: Answer = answer
    const fd = socket === null || body.file === 0 ? null : descriptorOf(socket)
    if (fd === null || socket === null || typeof head !== 'string') return null
    const taken = sendfile.send(fd, head, body.file, 0, Math.min(body.bytes.length, TURN_BYTES))
    if (taken <= 0) return null
    const transfer = new Transfer(sendfile, answer, socket, body)
    transfer.#begun(head, taken)
    return transfer
  }

  private constructor(sendfile: Sendfile, answer: ServerResponse, socket: Socket, body: Body) {
    this.#sendfile = sendfile
    this.#answer = answer
    this.#socket = socket
    this.#body = body
  }

  /** Bytes of the body that the kernel has taken. Of what Node has in hand nothing is counted. */
  get bytesOut(): number {
    return this.#bytesOut
  }

  get isComplete(): boolean {
    return this.#bytesOut === this.#body.bytes.length
  }

  #begun(head: string, taken: number): void {
    this.#answer._headerSent = true
    this.#bytesOut = Math.max(0, taken - head.length)
    if (taken >= head.length) this.#goOn(this.#bytesOut)
    else this.#answer.write(head.slice(taken), 'latin1', (error) => (error ? undefined : this.#goOn(0)))
    if (!this.isComplete) this.#finishForWhoEnds()
  }

  /** @param before bytes that this turn of the event loop has sent already */
  #goOn(before: number): void {
    if (this.#isHandedOver || this.#answer.destroyed || this.#socket.destroyed) return
    if (this.isComplete) {
      this.#answer.end()
    } else if (before >= TURN_BYTES) {
      setImmediate(() => this.#goOn(0))
    } else {
      const taken = this.#send(TURN_BYTES - before)
      this.#bytesOut += taken
      if (taken === 0) this.#sendPiece()
      else this.#goOn(before + taken)
    }
  }

  /** 0: what comes next has to go through Node. */
  #send(most: number): number {
    const fd = this.#mayUseFile ? descriptorOf(this.#socket) : null
    if (fd === null) return 0
    const { bytes, file } = this.#body
    const taken = this.#sendfile.send(fd, '', file, this.#bytesOut, Math.min(bytes.length - this.#bytesOut, most))
    // Of a file that is not what it was nothing more is sent; that a connection broke Node finds out by itself.
    if (taken < 0) this.#mayUseFile = false
    return Math.max(0, taken)
  }

  #sendPiece(): void {
    const piece = this.#body.bytes.subarray(this.#bytesOut, this.#bytesOut + PIECE_BYTES)
    this.#inNode = piece.length
    this.#answer.write(piece, (error) => {
      if (error) return
      this.#inNode = 0
      this.#bytesOut += piece.length
      this.#goOn(0)
    })
  }

  /** Node ends its side behind what it has in hand when a client has ended its own, so it gets all that is left before. */
  #finishForWhoEnds(): void {
    const handOver = (): void => {
      this.#isHandedOver = true
      const { bytes } = this.#body
      this.#answer.end(bytes.subarray(this.#bytesOut + this.#inNode), () => {
        this.#bytesOut = bytes.length
      })
    }
    this.#socket.prependOnceListener('end', handOver)
    this.#answer.once('finish', () => this.#socket.off('end', handOver))
  }
}

/**
 * The descriptor of a socket for which nothing waits in Node or libuv, so that what is sent there comes behind all that
 * was sent before. It is good for a call that follows at once and for nothing later.
 */
function descriptorOf(socket: Socket): number | null {
  const { _handle: handle } = socket as Internals
  if (!handle || socket.destroyed || !socket.writable || socket.writableLength !== 0) return null
  const { fd, writeQueueSize } = handle
  return typeof fd === 'number' && fd >= 0 && writeQueueSize === 0 ? fd : null
}
