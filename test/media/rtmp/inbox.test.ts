import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ChunkReader } from '../../../src/media/rtmp/chunkReader.ts'
import { Inbox } from '../../../src/media/rtmp/inbox.ts'
import { controlMessage, type Message, MESSAGE, writeMessage } from '../../../src/media/rtmp/messages.ts'
import { audioFrame, videoFrame } from './media.ts'

class FakeSocket extends EventEmitter {
  isReading = true
  pause(): void {
    this.isReading = false
  }
  resume(): void {
    this.isReading = true
  }
}

/** The inbox of a publisher, and what it has handled. */
function inboxOf(handled: Message[] = []) {
  const socket = new FakeSocket()
  const state = { isOpen: true }
  const failures: unknown[] = []
  const inbox = new Inbox({
    socket: socket as unknown as Socket,
    reader: new ChunkReader(100_000),
    take: (message) => void handled.push(message),
    refuse: (why) => failures.push(why),
    isOpen: () => state.isOpen,
    failed: (error) => failures.push(error),
  })
  return { inbox, socket, handled, state, failures }
}

const messages = (count: number): Message[] => Array.from({ length: count }, (_, at) => audioFrame(at, 1))
const bytesOf = (count: number): Buffer => Buffer.concat(messages(count).map((message) => writeMessage(message)))
/** A message of so many chunks. */
const inBytes = (count: number): Buffer =>
  Buffer.concat([
    writeMessage(controlMessage(MESSAGE.setChunkSize, 1)),
    writeMessage(videoFrame(0, count - 9), { chunkBytes: 1 }),
  ])

/** Lets the turns of the event loop pass until a look holds. Returns how many it took. */
async function turnsUntil(holds: () => boolean): Promise<number> {
  let turns = 0
  for (; !holds() && turns < 10_000; turns++) await setImmediate()
  return turns
}

test('a flood of one publisher is handled in order over many turns, reads no more meanwhile, and keeps no other waiting', async () => {
  const [flood, other] = [inboxOf(), inboxOf()]
  flood.inbox.receive(bytesOf(5000))
  expect(flood.handled).toHaveLength(250)
  expect(flood.socket.isReading).toBe(false)
  other.inbox.receive(bytesOf(20))
  expect([other.handled.length, other.socket.isReading]).toEqual([20, true])
  expect(await turnsUntil(() => flood.handled.length === 5000)).toBeGreaterThan(15)
  expect(flood.handled.map(({ timestamp }) => timestamp)).toEqual(messages(5000).map(({ timestamp }) => timestamp))
  expect(flood.socket.isReading).toBe(true)
})

test('floods of many publishers are handled a thousand messages a turn, each in its turn, with others between them', async () => {
  await setImmediate()
  const all: Message[] = []
  const floods = Array.from({ length: 30 }, () => inboxOf())
  for (const { inbox } of floods) inbox.receive(bytesOf(1000))
  const sum = () => floods.reduce((total, { handled }) => total + handled.length, 0)
  expect(sum()).toBeGreaterThan(750)
  expect(sum()).toBeLessThanOrEqual(1000)
  const late = inboxOf(all)
  late.inbox.receive(bytesOf(20))
  expect([all.length, late.socket.isReading]).toEqual([0, false])
  await turnsUntil(() => all.length > 0)
  // Two shares each of those before it, and the first ones had their third in the same turn.
  expect(Math.max(...floods.map(({ handled }) => handled.length))).toBeLessThanOrEqual(750)
  await turnsUntil(() => sum() === 30_000)
  expect(floods.every(({ handled, socket }) => handled.length === 1000 && socket.isReading)).toBe(true)
})

test('a message in chunks of a byte is read over many turns, of many publishers as of one, with others between them', async () => {
  await setImmediate()
  const [flood, other] = [inboxOf(), inboxOf()]
  flood.inbox.receive(inBytes(30_000))
  expect([flood.handled.length, flood.socket.isReading]).toEqual([0, false])
  other.inbox.receive(bytesOf(20))
  expect([other.handled.length, other.socket.isReading]).toEqual([20, true])
  expect(await turnsUntil(() => flood.handled.length === 1)).toBeGreaterThan(10)
  expect([flood.handled[0]?.payload.length, flood.socket.isReading]).toEqual([30_000, true])
  const floods = Array.from({ length: 40 }, () => inboxOf())
  for (const { inbox } of floods) inbox.receive(inBytes(2000))
  expect(floods.filter(({ handled }) => handled.length === 1).length).toBeLessThan(20)
  await turnsUntil(() => floods.every(({ handled }) => handled.length === 1))
  expect(floods.every(({ socket }) => socket.isReading)).toBe(true)
})

test('what is no RTMP is refused once, and nothing more of it is read', async () => {
  const { inbox, handled, failures } = inboxOf()
  inbox.receive(Buffer.concat([bytesOf(2500), Buffer.alloc(100, 0x87), bytesOf(1)]))
  await turnsUntil(() => failures.length > 0)
  expect(handled.length).toBe(1999)
  expect(failures).toEqual(['chunk stream 7 begins with a header that refers to an earlier one'])
})

test('what waits for a decision is handled after it, and what waits at the end is forgotten', async () => {
  const { inbox, socket, handled, state } = inboxOf()
  await setImmediate()
  inbox.hold()
  state.isOpen = false
  inbox.receive(bytesOf(100))
  inbox.tick()
  expect([handled.length, socket.isReading]).toEqual([0, false])
  state.isOpen = true
  inbox.open()
  expect([handled.length, socket.isReading]).toEqual([100, true])
  inbox.receive(bytesOf(1000))
  const before = handled.length
  state.isOpen = false
  inbox.clear()
  await turnsUntil(() => socket.isReading)
  expect(handled).toHaveLength(before)
})

test('after too many messages in a second it reads no more until the next tick', async () => {
  const { inbox, socket, handled } = inboxOf()
  inbox.receive(bytesOf(10_001))
  await turnsUntil(() => handled.length === 10_001)
  expect(socket.isReading).toBe(false)
  inbox.tick()
  expect(socket.isReading).toBe(true)
})

test('publishers with too many messages in a second read on one after the other, and none that has to wait for a decision', async () => {
  const floods = Array.from({ length: 5 }, () => inboxOf())
  for (const { inbox } of floods) inbox.receive(bytesOf(10_001))
  await turnsUntil(() => floods.every(({ handled }) => handled.length === 10_001))
  for (const { inbox } of floods) inbox.tick()
  floods[4]?.inbox.hold()
  const reading: number[] = []
  for (let turn = 0; turn < 5; turn++) {
    reading.push(floods.filter(({ socket }) => socket.isReading).length)
    await setImmediate()
  }
  expect(reading).toEqual([1, 2, 3, 4, 4])
  floods[4]?.inbox.open()
  expect(floods[4]?.socket.isReading).toBe(true)
})

test('a fault in handling what waited is that of its publisher', async () => {
  const { inbox, failures } = inboxOf(
    Object.assign([], {
      push(this: Message[], message: Message) {
        if (message.timestamp === 600) throw new Error('broken')
        return this.length
      },
    }),
  )
  inbox.receive(bytesOf(1000))
  await turnsUntil(() => failures.length > 0)
  expect(failures).toHaveLength(1)
})
