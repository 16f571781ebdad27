import { err, ok, type Result } from '../../base/result.ts'
import { type Message, MESSAGE } from './messages.ts'

/** The state of one chunk stream between its chunks (RTMP 1.0 section 5.3.1). */
interface ChunkStream {
  timestamp: number
  /** What a header without a time adds; after a full header this is its own time (section 5.3.1.2.4). */
  delta: number
  /** The extended timestamp, when the 24 bits were all ones. Each further chunk repeats it after its header. */
  extended: number | null
  length: number
  type: number
  streamId: number
  /** The unfinished message; null between messages. A length alone costs no memory. */
  payload: Buffer | null
  filled: number
}

/** Of one connection. Publishers use four or five. */
const MAX_CHUNK_STREAMS = 32
/** Lengths of the message header for the four formats (section 5.3.1.2). */
const HEADER_BYTES = [11, 7, 3, 0] as const
/** Basic header 3, message header 11, extended timestamp 4. */
const LONGEST_HEADER = 18
const EXTENDED = 0xff_ffff
/** With the first byte of a message. It grows as bytes arrive. */
const LEAST_ALLOCATION = 1024
const NONE = Buffer.alloc(0)
/** The limit of section 5.4.1: no message is longer. */
const MAX_CHUNK_BYTES = 0xff_ffff

/** What was read of some bytes. */
interface ReadChunks {
  readonly messages: Message[]
  readonly chunks: number
  /** What is left of the bytes. */
  readonly rest: Buffer
}

/** Assembles messages from the bytes of a connection, in pieces of any size. Obeys Set Chunk Size and Abort. */
export class ChunkReader {
  #chunks = 0
  /** The longest message, from the next header on. All unfinished ones together may have twice as many bytes. */
  maxMessageBytes: number
  #chunkBytes = 128
  readonly #streams = new Map<number, ChunkStream>()
  readonly #header = Buffer.alloc(LONGEST_HEADER)
  #have = 0
  /** The chunk stream whose payload is being read; `#left` counts the bytes that its chunk still needs. */
  #current: ChunkStream | null = null
  #left = 0
  #unfinishedBytes = 0

  constructor(maxMessageBytes: number) {
    this.maxMessageBytes = maxMessageBytes
  }

  /** The messages that `data` completes. After a refusal the reader must not be used again. */
  push(data: Buffer): Result<Message[], string> {
    const read = this.read(data, Number.POSITIVE_INFINITY)
    return read.ok ? ok(read.value.messages) : read
  }

  /** As `push`, but stops after so many chunks: one of a byte costs nearly as much as a large one. */
  read(data: Buffer, maxChunks: number): Result<ReadChunks, string> {
    const messages: Message[] = []
    const before = this.#chunks
    let at = 0
    while (at < data.length && this.#chunks - before < maxChunks) {
      if (this.#current === null) {
        at += this.#collectHeader(data, at)
        const problem = this.#have === this.#headerLength() ? this.#headerRead(messages) : null
        if (problem !== null) return err(problem)
      } else {
        const taken = this.#takePayload(this.#current, data, at, messages)
        if (taken === null) return err('the unfinished messages are too large together')
        at += taken
      }
    }
    return ok({ messages, chunks: this.#chunks - before, rest: data.subarray(at) })
  }

  #collectHeader(data: Buffer, from: number): number {
    let at = from
    while (at < data.length && this.#have < this.#headerLength()) this.#header[this.#have++] = data[at++] ?? 0
    return at - from
  }

  /** The length of the header, as far as its bytes so far show it. */
  #headerLength(): number {
    if (this.#have === 0) return 1
    const basic = this.#basicLength()
    const fixed = basic + (HEADER_BYTES[this.#format()] ?? 0)
    if (this.#have < fixed) return fixed
    return this.#isExtended(basic) ? fixed + 4 : fixed
  }

  #format(): number {
    return (this.#header[0] ?? 0) >> 6
  }

  #basicLength(): 1 | 2 | 3 {
    const low = (this.#header[0] ?? 0) & 0x3f
    return low === 0 ? 2 : low === 1 ? 3 : 1
  }

  #chunkStreamId(): number {
    const length = this.#basicLength()
    if (length === 1) return (this.#header[0] ?? 0) & 0x3f
    return length === 2 ? this.#header.readUInt8(1) + 64 : this.#header.readUInt16LE(1) + 64
  }

  #isExtended(basic: number): boolean {
    if (this.#format() < 3) return this.#header.readUIntBE(basic, 3) === EXTENDED
    return (this.#streams.get(this.#chunkStreamId())?.extended ?? null) !== null
  }

  /** A header is complete: the problem with it, or null. */
  #headerRead(messages: Message[]): string | null {
    this.#chunks += 1
    const format = this.#format()
    const stream = this.#streamOf(format)
    if (typeof stream === 'string') return stream
    const extended = this.#isExtended(this.#basicLength()) ? this.#header.readUInt32BE(this.#have - 4) : null
    this.#have = 0
    if (stream.payload !== null) return this.#continueMessage(stream, format, extended, messages)
    readHeader(stream, format, this.#header.subarray(this.#basicLength()), extended)
    return this.#beginMessage(stream, messages)
  }

  #streamOf(format: number): ChunkStream | string {
    const id = this.#chunkStreamId()
    const existing = this.#streams.get(id)
    if (existing) return existing
    if (format > 1) return `chunk stream ${id} begins with a header that refers to an earlier one`
    if (this.#streams.size >= MAX_CHUNK_STREAMS) return 'too many chunk streams'
    const stream = {
      timestamp: 0,
      delta: 0,
      extended: null,
      length: 0,
      type: 0,
      streamId: 0,
      payload: null,
      filled: 0,
    }
    this.#streams.set(id, stream)
    return stream
  }

  #beginMessage(stream: ChunkStream, messages: Message[]): string | null {
    const { maxMessageBytes } = this
    if (stream.length > maxMessageBytes) return `a message of ${stream.length} bytes; ${maxMessageBytes} is the most`
    stream.payload = NONE
    stream.filled = 0
    return this.#beginChunk(stream, messages)
  }

  /** Some publishers omit the extended timestamp in further chunks: its four bytes are then payload. */
  #continueMessage(stream: ChunkStream, format: number, extended: number | null, messages: Message[]): string | null {
    if (format !== 3) return 'a message begins before the last one on its chunk stream has ended'
    const isPayload = extended !== null && extended !== stream.extended
    const problem = this.#beginChunk(stream, messages)
    if (problem !== null || !isPayload) return problem
    const rest = Buffer.alloc(4)
    rest.writeUInt32BE(extended)
    const read = this.push(rest)
    if (!read.ok) return read.error
    messages.push(...read.value)
    return null
  }

  #beginChunk(stream: ChunkStream, messages: Message[]): string | null {
    this.#left = Math.min(stream.length - stream.filled, this.#chunkBytes)
    this.#current = stream
    return this.#left === 0 ? this.#endChunk(stream, messages) : null
  }

  /** Copies into the message. Returns the number of bytes taken, or null when too much is unfinished. */
  #takePayload(stream: ChunkStream, data: Buffer, at: number, messages: Message[]): number | null {
    const count = Math.min(this.#left, data.length - at)
    this.#unfinishedBytes += count
    if (this.#unfinishedBytes > 2 * this.maxMessageBytes) return null
    const payload = roomFor(stream, data.length - at)
    data.copy(payload, stream.filled, at, at + count)
    stream.filled += count
    this.#left -= count
    if (this.#left === 0) this.#endChunk(stream, messages)
    return count
  }

  #endChunk(stream: ChunkStream, messages: Message[]): null {
    this.#current = null
    if (stream.filled < stream.length) return null
    const { type, streamId, timestamp } = stream
    const payload = this.#forget(stream)
    if (type === MESSAGE.setChunkSize) this.#setChunkSize(payload)
    else if (type === MESSAGE.abort) this.#abort(payload)
    else messages.push({ type, streamId, timestamp, payload })
    return null
  }

  #forget(stream: ChunkStream): Buffer {
    const payload = stream.payload ?? Buffer.alloc(0)
    this.#unfinishedBytes -= stream.filled
    stream.payload = null
    stream.filled = 0
    return payload
  }

  /** Ignores zero, which would never end, and a payload that is too short. */
  #setChunkSize(payload: Buffer): void {
    const size = payload.length >= 4 ? payload.readUInt32BE(0) & 0x7fff_ffff : 0
    if (size > 0) this.#chunkBytes = Math.min(size, MAX_CHUNK_BYTES)
  }

  #abort(payload: Buffer): void {
    const stream = payload.length >= 4 ? this.#streams.get(payload.readUInt32BE(0)) : undefined
    if (stream) this.#forget(stream)
  }
}

/** Sets the fields that the header has; the others keep their values. */
function readHeader(stream: ChunkStream, format: number, header: Buffer, extended: number | null): void {
  stream.extended = extended
  if (format < 3) stream.delta = extended ?? header.readUIntBE(0, 3)
  else if (extended !== null) stream.delta = extended
  stream.timestamp = format === 0 ? stream.delta : (stream.timestamp + stream.delta) % 2 ** 32
  if (format > 1) return
  stream.length = header.readUIntBE(3, 3)
  stream.type = header.readUInt8(6)
  if (format === 0) stream.streamId = header.readUInt32LE(7)
}

/**
 * The buffer of the message, with room for as many bytes as have come, of its other chunks too; doubles when it is too small, up
 * to the length of the message.
 */
function roomFor(stream: ChunkStream, arrived: number): Buffer {
  const old = stream.payload ?? NONE
  const needed = Math.min(stream.length, stream.filled + arrived)
  if (old.length >= needed) return old
  const size = Math.min(stream.length, Math.max(LEAST_ALLOCATION, old.length * 2, needed))
  // Each of its bytes is written before the message is complete.
  const payload = Buffer.allocUnsafe(size)
  old.copy(payload, 0, 0, stream.filled)
  stream.payload = payload
  return payload
}
