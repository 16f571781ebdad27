import type { Message } from '../../../src/media/rtmp/messages.ts'

/** What a publisher may choose for each message: its chunk stream and how short its header is. */
export interface Choice {
  readonly chunkStreamId: number
  /** The shortest header that it may use: 0 is the full one, 3 none. */
  readonly shortest: number
}

interface Last {
  message: Message
  /** The value of the time field; in a full header the timestamp itself. */
  field: number
}

/** Writes messages into chunks with every kind of header: an independent implementation to check the reader. */
export class ChunkEncoder {
  readonly #chunkBytes: number
  readonly #last = new Map<number, Last>()

  constructor(chunkBytes: number) {
    this.#chunkBytes = chunkBytes
  }

  /** The chunks of one message; chunks of other chunk streams may come between them. */
  chunks(message: Message, { chunkStreamId, shortest }: Choice): Buffer[] {
    const last = this.#last.get(chunkStreamId)
    const format = Math.min(shortest, last ? shortestFor(message, last) : 0)
    const field = format === 0 ? message.timestamp : message.timestamp - (last?.message.timestamp ?? 0)
    this.#last.set(chunkStreamId, { message, field })
    const extended = field >= 0xff_ffff ? uint(field, 4) : Buffer.alloc(0)
    const { payload, type, streamId } = message
    const streamIdBytes = Buffer.alloc(4)
    streamIdBytes.writeUInt32LE(streamId)
    const full = [uint(Math.min(field, 0xff_ffff), 3), uint(payload.length, 3), Buffer.from([type]), streamIdBytes]
    const head = Buffer.concat([basic(format, chunkStreamId), ...full.slice(0, [4, 3, 1, 0][format]), extended])
    const chunks = [Buffer.concat([head, payload.subarray(0, this.#chunkBytes)])]
    for (let at = this.#chunkBytes; at < payload.length; at += this.#chunkBytes) {
      chunks.push(Buffer.concat([basic(3, chunkStreamId), extended, payload.subarray(at, at + this.#chunkBytes)]))
    }
    return chunks
  }
}

function shortestFor(message: Message, { message: last, field }: Last): number {
  const delta = message.timestamp - last.timestamp
  if (delta < 0 || message.streamId !== last.streamId) return 0
  if (message.type !== last.type || message.payload.length !== last.payload.length) return 1
  return delta === field ? 3 : 2
}

function basic(format: number, id: number): Buffer {
  if (id < 64) return Buffer.from([(format << 6) | id])
  if (id < 320) return Buffer.from([format << 6, id - 64])
  return Buffer.from([(format << 6) | 1, (id - 64) & 0xff, (id - 64) >> 8])
}

function uint(value: number, size: number): Buffer {
  const bytes = Buffer.alloc(size)
  bytes.writeUIntBE(value, 0, size)
  return bytes
}
