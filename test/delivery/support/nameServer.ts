import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'

/**
 * A name server on loopback that answers questions for A records with what the test says, one answer after the other.
 */
export class NameServer {
  readonly #socket: Socket = createSocket('udp4')
  readonly #answers: string[][]
  /** The number of queries for IPv4 addresses. */
  questions = 0
  /** Other queries get no answer. */
  dropsOthers = false

  /** The last answer is repeated. An answer of no addresses says that the name exists without any. */
  constructor(...answers: string[][]) {
    this.#answers = answers
    this.#socket.on('message', (question, from) => {
      if (isForA(question) || !this.dropsOthers) this.#socket.send(this.#answer(question), from.port, from.address)
    })
  }

  /** Begins to answer; the result is its address in the form in which resolvers take it. */
  async start(): Promise<string> {
    this.#socket.bind(0, '127.0.0.1')
    await once(this.#socket, 'listening')
    return `127.0.0.1:${this.#socket.address().port}`
  }

  stop(): void {
    this.#socket.close()
  }

  /** RFC 1035 section 4: the question repeated, then one record for each address, with a life of 0 s. */
  #answer(question: Buffer): Buffer {
    const end = endOf(question)
    const addresses = isForA(question) ? this.#next() : []
    const head = Buffer.from(question.subarray(0, 12))
    head.writeUInt16BE(0x8180, 2)
    head.writeUInt16BE(addresses.length, 6)
    head.writeUInt32BE(0, 8)
    return Buffer.concat([head, question.subarray(12, end), ...addresses.map(aRecord)])
  }

  #next(): string[] {
    const answer = this.#answers[Math.min(this.questions, this.#answers.length - 1)] ?? []
    this.questions += 1
    return answer
  }
}

/** Behind the name, its type and its class. */
const endOf = (question: Buffer): number => question.indexOf(0, 12) + 5
const isForA = (question: Buffer): boolean => question.readUInt16BE(endOf(question) - 4) === 1

/** A pointer to the name in the question, type A, class IN, no life, four bytes. */
function aRecord(address: string): Buffer {
  const head = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4])
  return Buffer.concat([head, Buffer.from(address.split('.').map(Number))])
}
