import { expect, onTestFinished, test, vi } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { FLOW_WINDOW } from '../../../src/media/srt/handshake.ts'
import { SrtReceiver } from '../../../src/media/srt/receiver.ts'
import { SrtReceiving, RECEIVING_TICK_MS } from '../../../src/media/srt/receiving.ts'
import { sequenceAfter, stepsBetween } from '../../../src/media/srt/sequences.ts'

const LATENCY_MS = 100

function receiving(sequence = 0) {
  const order: (number | 'gap')[] = []
  const receiver = new SrtReceiver({
    sequence,
    latencyMs: LATENCY_MS,
    deliver: (body) => order.push(body.readUInt32BE()),
    gap: () => order.push('gap'),
  })
  const take = (nowMs: number, ...sequences: readonly number[]) =>
    sequences.map((one) => {
      const body = Buffer.alloc(4)
      body.writeUInt32BE(one)
      return receiver.take(one, body, nowMs)
    })
  return { order, receiver, take }
}

test('packets in order leave at once', () => {
  const { order, take, receiver } = receiving()
  expect(take(0, 0, 1, 2)).toEqual([null, null, null])
  expect([order, receiver.next]).toEqual([[0, 1, 2], 3])
})

test('a gap is told once as a range, and what comes after waits for it', () => {
  const { order, take, receiver } = receiving()
  expect(take(0, 0, 3, 4)).toEqual([null, [1, 2], null])
  expect([order, receiver.next, receiver.freePackets]).toEqual([[0], 1, FLOW_WINDOW - 2])
  take(10, 2, 1)
  expect([order, receiver.next]).toEqual([[0, 1, 2, 3, 4], 5])
})

test('what is missing is told again in ranges until it comes', () => {
  const { take, receiver } = receiving()
  take(0, 0, 3, 5)
  expect(receiver.tick(19, 20)).toEqual([])
  expect(receiver.tick(20, 20)).toEqual([
    [1, 2],
    [4, 4],
  ])
  expect(receiver.tick(21, 20)).toEqual([])
  take(30, 1)
  expect(receiver.tick(40, 20)).toEqual([
    [2, 2],
    [4, 4],
  ])
})

test('a packet that is missing for the latency is given up, and the rest leaves', () => {
  const { order, take, receiver } = receiving()
  take(0, 0, 2, 3, 6)
  receiver.tick(99, 20)
  expect(order).toEqual([0])
  receiver.tick(100, 20)
  expect([order, receiver.next, receiver.dropped]).toEqual([[0, 'gap', 2, 3, 'gap', 6], 7, 3])
  take(110, 1, 7)
  expect([order.at(-1), receiver.duplicates]).toEqual([7, 1])
})

test('the younger of two gaps is waited for longer', () => {
  const { order, take, receiver } = receiving()
  take(0, 0, 2)
  take(60, 4)
  receiver.tick(100, 20)
  expect(order).toEqual([0, 'gap', 2])
  take(120, 3)
  expect(order).toEqual([0, 'gap', 2, 3, 4])
})

test('what came again during a pause of the process is taken after it, and what did not come is given up', () => {
  const clock = new ManualClock()
  const order: string[] = []
  const receiving = new SrtReceiving({
    sequence: 0,
    latencyMs: LATENCY_MS,
    keys: null,
    clock,
    control: () => undefined,
    deliver: (body) => order.push(body.toString()),
    gap: () => order.push('gap'),
    leftOut: () => undefined,
  })
  const take = (sequence: number) =>
    receiving.take({ kind: 'data', sequence, key: 0, socketId: 1, body: Buffer.from(`${sequence}`) }, clock.monotonic())
  const tick = (ms: number) => {
    clock.advance(ms)
    receiving.tick(clock.monotonic())
  }
  for (const sequence of [0, 2, 4]) take(sequence)
  // The timer comes first, and then the socket is read.
  tick(2 * LATENCY_MS)
  take(1)
  expect(order).toEqual(['0', '1', '2'])
  for (let ms = 0; ms < LATENCY_MS; ms += RECEIVING_TICK_MS) tick(RECEIVING_TICK_MS)
  expect(order).toEqual(['0', '1', '2', 'gap', '4'])
})

test('what the sender gives up is not waited for', () => {
  const { order, take, receiver } = receiving()
  take(0, 0, 3)
  receiver.drop([1, 2])
  expect(receiver.tick(1, 20)).toEqual([])
  expect([order, receiver.dropped]).toEqual([[0, 'gap', 3], 2])
})

test('what the sender gives up in the middle of a gap is not waited for once the rest has come', () => {
  const { order, take, receiver } = receiving()
  take(0, 0, 5)
  receiver.drop([2, 3])
  take(1, 1, 4)
  expect(order).toEqual([0, 1])
  expect(receiver.tick(1, 20)).toEqual([])
  expect([order, receiver.next, receiver.dropped]).toEqual([[0, 1, 'gap', 4, 5], 6, 2])
})

test('a packet that left out thousands of numbers had an entry for each, so that a thousand a second stopped the server', () => {
  const { order, take, receiver } = receiving()
  const sent = Array.from({ length: 20 }, (_, at) => sequenceAfter(0, at * (FLOW_WINDOW - 1)))
  onTestFinished(() => void vi.restoreAllMocks())
  const entries = vi.spyOn(Map.prototype, 'set')
  const looks = vi.spyOn(Map.prototype, 'has')
  take(0, ...sent)
  receiver.finish()
  expect([entries.mock.calls.length, looks.mock.calls.length]).toEqual([sent.length, sent.length])
  expect(order.filter((one) => one !== 'gap')).toEqual(sent)
})

test('what waits behind gaps leaves when nothing more comes', () => {
  const { order, take, receiver } = receiving()
  take(0, 0, 2, 5, 6)
  receiver.finish()
  expect([order, receiver.next, receiver.dropped]).toEqual([[0, 'gap', 2, 'gap', 5, 6], 7, 3])
})

test('a packet that comes twice leaves once', () => {
  const { order, take, receiver } = receiving()
  take(0, 0, 0, 2, 2, 1, 1)
  expect([order, receiver.duplicates]).toEqual([[0, 1, 2], 3])
})

test('the wrap of the 31 bits of sequence numbers is a step like any other', () => {
  const first = 0x7fff_fffe
  const { order, take } = receiving(first)
  expect(sequenceAfter(0x7fff_ffff)).toBe(0)
  expect([stepsBetween(0x7fff_ffff, 1), stepsBetween(1, 0x7fff_ffff)]).toEqual([2, -2])
  expect(take(0, first, 1, 0x7fff_ffff, 0)).toEqual([null, [0x7fff_ffff, 0], null, null])
  expect(order).toEqual([first, 0x7fff_ffff, 0, 1])
})

test('a sender that goes on beyond the window has given up what is before, and no memory grows', () => {
  const { order, take, receiver } = receiving()
  take(0, 0, 2, 3 + FLOW_WINDOW)
  expect([order, receiver.next]).toEqual([[0, 'gap', 2, 'gap', 3 + FLOW_WINDOW], 4 + FLOW_WINDOW])
  for (let at = 0; at < 20 * FLOW_WINDOW; at += 3) take(1, 5 + FLOW_WINDOW + at)
  expect(receiver.freePackets).toBeGreaterThanOrEqual(0)
  expect(receiver.tick(2, 0).length).toBeLessThanOrEqual(FLOW_WINDOW)
})

test('a sender that asks without end to drop packets is heard no more until the next tick', () => {
  const { receiver, take } = receiving()
  take(0, 0, 2, 4)
  for (let times = 0; times < 8192; times++) receiver.drop([3, 3])
  receiver.drop([1, 1])
  receiver.tick(1, LATENCY_MS)
  expect(receiver.next).toBe(1)
  receiver.drop([1, 1])
  receiver.tick(2, LATENCY_MS)
  expect(receiver.next).toBe(5)
})
