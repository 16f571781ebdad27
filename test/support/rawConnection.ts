import type { Socket } from 'node:net'
import { dial } from './splice.ts'

/** An answer as it came. */
export interface RawAnswer {
  readonly status: number
  /** Its lines, the first one included, without the empty line. */
  readonly head: string
  readonly body: Buffer
}

const END = '\r\n\r\n'

/** A connection that stays open, and what comes on it byte for byte. It lasts as long as the test. */
export class RawConnection {
  readonly socket: Socket
  #chunks: Buffer[] = []
  #size = 0
  #isOver = false
  #wake: () => void = () => undefined

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk)
      this.#size += chunk.length
      this.#wake()
    })
    for (const event of ['end', 'close']) {
      socket.on(event, () => {
        this.#isOver = true
        this.#wake()
      })
    }
  }

  static async open(port: number): Promise<RawConnection> {
    return new RawConnection(await dial(port))
  }

  /** @param base the URL of a server */
  static to(base: string): Promise<RawConnection> {
    return RawConnection.open(Number(new URL(base).port))
  }

  /** Sends a request and waits for its answer. */
  async ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<RawAnswer> {
    this.socket.write(requestFor(path, headers, method))
    return this.answer(method)
  }

  /** The next answer. Fails if the connection ends before. */
  async answer(method = 'GET'): Promise<RawAnswer> {
    while (!this.rest.includes(END)) await this.#more()
    const head = this.rest.toString('latin1', 0, this.rest.indexOf(END))
    const length = method === 'HEAD' ? 0 : Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0)
    const start = head.length + END.length
    while (this.#size < start + length) await this.#more()
    const all = this.rest
    this.#chunks = [all.subarray(start + length)]
    this.#size = all.length - start - length
    return { status: Number(head.split(' ')[1]), head, body: all.subarray(start, start + length) }
  }

  /** What came and is of no answer yet. */
  get rest(): Buffer {
    const all = this.#chunks.length === 1 ? this.#chunks[0] : undefined
    if (all) return all
    const joined = Buffer.concat(this.#chunks)
    this.#chunks = [joined]
    return joined
  }

  /** Resolves when the other side has ended the connection. */
  async ended(): Promise<void> {
    while (!this.#isOver) await this.#change()
  }

  async #more(): Promise<void> {
    if (this.#isOver) throw new Error(`the connection ended after ${this.#size} bytes of an answer`)
    await this.#change()
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }
}

/** An answer without what is of it alone. Names of headers are in small letters, and in alphabetical order. */
export function alike({ status, head, body }: RawAnswer) {
  const [first, ...headers] = head.replace(/(?<=^(?:Date|X-Request-Id): ).*$/gim, '…').split('\r\n')
  return { status, first, headers: headers.map(inSmallLetters).toSorted(), text: body.toString('latin1') }
}

const inSmallLetters = (header: string): string => header.replace(/^[^:]+/, (name) => name.toLowerCase())

export function requestFor(path: string, headers: Record<string, string> = {}, method = 'GET'): string {
  const lines = Object.entries({ host: 'a', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}
