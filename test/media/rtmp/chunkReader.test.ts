import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ChunkReader } from '../../../src/media/rtmp/chunkReader.ts'
import { chunksOf, controlMessage, type Message, MESSAGE, writeMessage } from '../../../src/media/rtmp/messages.ts'
import { ChunkEncoder } from './chunks.ts'

const MAX_BYTES = 100_000
const read = (bytes: Buffer) => new ChunkReader(MAX_BYTES).push(bytes)

function message(type: number, timestamp: number, payload: Buffer | number, streamId = 1): Message {
  return { type, streamId, timestamp, payload: typeof payload === 'number' ? Buffer.alloc(payload, type) : payload }
}

const messages = fc.array(
  fc.record({
    type: fc.constantFrom(MESSAGE.audio, MESSAGE.video, MESSAGE.data, MESSAGE.command),
    streamId: fc.constantFrom(0, 1, 0x0102_0304),
    timestamp: fc.oneof(fc.nat(5000), fc.integer({ min: 0xff_fff0, max: 0x100_0010 }), fc.nat(0xffff_ffff)),
    payload: fc.oneof(fc.constant(40), fc.nat(700)).map((length) => Buffer.alloc(length, length)),
    chunkStreamId: fc.constantFrom(2, 3, 63, 64, 319, 320, 65_599),
    shortest: fc.integer({ min: 0, max: 3 }),
  }),
  { maxLength: 12, size: 'max' },
)

/** Interleaves the chunks of messages on different chunk streams; messages on one follow each other. */
function interleave(list: readonly { chunks: Buffer[]; on: number }[]): Buffer {
  const queues = [...Map.groupBy(list, ({ on }) => on).values()].map((of) => of.flatMap(({ chunks }) => chunks))
  const out: Buffer[] = []
  while (queues.some((queue) => queue.length > 0)) for (const queue of queues) out.push(...queue.splice(0, 1))
  return Buffer.concat(out)
}

function split(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end))
}

describe('chunks', () => {
  test('give the same messages with any headers, chunk sizes and interleaving, wherever the bytes are split', () => {
    const property = fc.property(
      messages,
      fc.integer({ min: 1, max: 300 }),
      fc.array(fc.nat(), { maxLength: 20, size: 'max' }),
      (sent, chunkBytes, cuts) => {
        const encoder = new ChunkEncoder(chunkBytes)
        const list = sent.map((one) => ({ chunks: encoder.chunks(one, one), on: one.chunkStreamId }))
        const bytes = Buffer.concat([
          writeMessage(controlMessage(MESSAGE.setChunkSize, chunkBytes), { chunkStreamId: 5 }),
          interleave(list),
        ])
        const reader = new ChunkReader(MAX_BYTES)
        const received = split(bytes, cuts).flatMap((part) => {
          const result = reader.push(part)
          expect(result.ok).toBe(true)
          return result.ok ? result.value : []
        })
        const key = ({ type, streamId, timestamp, payload }: Message): string =>
          [type, streamId, timestamp, payload.toString('hex')].join(' ')
        expect(received.map(key).sort()).toEqual(sent.map(key).sort())
      },
    )
    fc.assert(property, { numRuns: 500 })
  })

  test('of a message whose payload begins in a head of its own are those of both in one, with no copy of the payload', () => {
    fc.assert(
      fc.property(fc.nat(8), fc.nat(40), fc.integer({ min: 8, max: 20 }), (headBytes, bytes, chunkBytes) => {
        const [head, payload] = [Buffer.alloc(headBytes, 1), Buffer.alloc(bytes, 2)]
        const of = (parts: Pick<Message, 'payload'> & { head?: Buffer }) =>
          chunksOf({ type: MESSAGE.video, streamId: 1, timestamp: 2 ** 25, ...parts }, { chunkBytes })
        const pieces = of({ head, payload })
        expect(Buffer.concat(pieces)).toEqual(Buffer.concat(of({ payload: Buffer.concat([head, payload]) })))
        const own = pieces.filter(({ buffer }) => buffer === payload.buffer).map(({ length }) => length)
        expect(own.reduce((sum, length) => sum + length, 0)).toBe(bytes)
      }),
    )
  })

  test('may omit the extended timestamp in further chunks, as some publishers do', () => {
    const sent = message(MESSAGE.video, 0x0200_0000, Buffer.from(Array.from({ length: 300 }, (_, at) => at & 0xff)))
    const strict = writeMessage(sent)
    // Basic header 1, message header 11, extended 4, then chunks of 128 with 1 + 4 between them.
    const lax = Buffer.concat([
      strict.subarray(0, 16 + 128 + 1),
      strict.subarray(16 + 128 + 5, 16 + 256 + 6),
      strict.subarray(16 + 256 + 10),
    ])
    expect(read(strict)).toEqual({ ok: true, value: [sent] })
    expect(read(lax)).toEqual({ ok: true, value: [sent] })
  })

  test('of an aborted message are discarded', () => {
    const half = writeMessage(message(MESSAGE.video, 0, 200), { chunkStreamId: 6 }).subarray(0, 12 + 128)
    const abort = writeMessage(controlMessage(MESSAGE.abort, 6), { chunkStreamId: 2 })
    const next = message(MESSAGE.video, 5, 10)
    expect(read(Buffer.concat([half, abort, writeMessage(next, { chunkStreamId: 6 })]))).toEqual({
      ok: true,
      value: [next],
    })
  })

  test('give an empty message too', () => {
    expect(read(writeMessage(message(MESSAGE.audio, 7, 0)))).toEqual({
      ok: true,
      value: [message(MESSAGE.audio, 7, 0)],
    })
  })
})

describe('a bound', () => {
  const refusedFor = (bytes: Buffer) => {
    const result = read(bytes)
    return result.ok ? 'accepted' : result.error
  }

  test('limits the length of a message, before its memory is allocated', () => {
    const head = writeMessage(message(MESSAGE.video, 0, 100_001)).subarray(0, 12)
    expect(refusedFor(head)).toBe('a message of 100001 bytes; 100000 is the most')
  })

  test('limits the number of chunk streams', () => {
    const many = Array.from({ length: 33 }, (_, at) =>
      writeMessage(message(MESSAGE.audio, 0, 1), { chunkStreamId: 3 + at }),
    )
    expect(refusedFor(Buffer.concat(many.slice(0, 32)))).toBe('accepted')
    expect(refusedFor(Buffer.concat(many))).toBe('too many chunk streams')
  })

  test('are read up to a number, wherever the rest begins', () => {
    const size = writeMessage(controlMessage(MESSAGE.setChunkSize, 1))
    const frame = writeMessage(message(MESSAGE.video, 0, 5), { chunkBytes: 1 })
    const reader = new ChunkReader(MAX_BYTES)
    const readSome = (bytes: Buffer) => {
      const some = reader.read(bytes, 4)
      return some.ok ? some.value : expect.fail(some.error)
    }
    const first = readSome(Buffer.concat([size, frame, frame]))
    expect([first.messages, first.chunks]).toEqual([[], 4])
    const second = readSome(first.rest)
    expect([second.messages.length, second.chunks]).toEqual([1, 4])
    const third = readSome(second.rest)
    expect([third.messages.length, third.chunks, third.rest.length]).toEqual([1, 3, 0])
  })

  test('limits the unfinished bytes on all chunk streams together', () => {
    const size = writeMessage(controlMessage(MESSAGE.setChunkSize, 90_000))
    const half = [4, 5, 6].map((chunkStreamId) =>
      writeMessage(message(MESSAGE.video, 0, 95_000), { chunkStreamId, chunkBytes: 90_000 }).subarray(0, 12 + 90_000),
    )
    expect(refusedFor(Buffer.concat([size, ...half]))).toBe('the unfinished messages are too large together')
  })

  test('limits the memory of messages without a payload so far', () => {
    const reader = new ChunkReader(16_000_000)
    const before = process.memoryUsage().arrayBuffers
    for (let id = 3; id < 35; id++) {
      const head = Buffer.alloc(12)
      head.writeUInt8(id, 0)
      head.writeUIntBE(16_000_000, 4, 3)
      head.writeUInt8(MESSAGE.video, 7)
      // One missing byte keeps the chunk open; the next header completes it.
      expect(reader.push(Buffer.concat([head, Buffer.alloc(128)])).ok).toBe(true)
    }
    // With 64 KiB for each, a thousand connections without a token took two gigabytes.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1_000_000)
  })

  test('refuses headers without an earlier one, and messages that begin inside others', () => {
    expect(refusedFor(Buffer.from([0xc3]))).toBe('chunk stream 3 begins with a header that refers to an earlier one')
    expect(refusedFor(Buffer.from([0x83, 0, 0, 0]))).toMatch(/refers to an earlier one/)
    const half = writeMessage(message(MESSAGE.video, 0, 200)).subarray(0, 12 + 128)
    const other = writeMessage(message(MESSAGE.audio, 0, 5))
    expect(refusedFor(Buffer.concat([half, other]))).toBe(
      'a message begins before the last one on its chunk stream has ended',
    )
  })

  test('ignores a chunk size of zero', () => {
    const sent = message(MESSAGE.audio, 0, 5)
    const zero = writeMessage(controlMessage(MESSAGE.setChunkSize, 0))
    expect(read(Buffer.concat([zero, writeMessage(sent)]))).toEqual({ ok: true, value: [sent] })
  })
})
