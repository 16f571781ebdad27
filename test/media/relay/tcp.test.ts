import { once } from 'node:events'
import { connect, createServer, Socket } from 'node:net'
import * as fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { ByAddress } from '../../../src/base/byAddress.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { openPorts } from '../../../src/media/relay/transport/port.ts'
import type { Endpoint } from '../../../src/media/relay/transport/socket.ts'
import { isTcp, messageReader, openTcp, type TcpOptions, type TcpPort } from '../../../src/media/relay/transport/tcp.ts'
import { ownPort } from '../../support/ownPort.ts'
import { addressOf, WireNet, WirePeer } from '../../support/wirePeer.ts'

/** Often, and however busy the machine is. */
const POLL = { interval: 2, timeout: 30_000 }

const open: { close(): unknown }[] = []
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close()
})

const framed = (message: Uint8Array): Buffer => {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(message.length)
  return Buffer.concat([length, message])
}

test('messages are the same however the stream is cut into pieces', () => {
  const messages = fc.array(fc.uint8Array({ minLength: 1, maxLength: 200, size: 'max' }), { maxLength: 20 })
  fc.assert(
    fc.property(messages, fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1 }), (sent, cuts) => {
      const stream = Buffer.concat(sent.map(framed))
      const got: Buffer[] = []
      const read = messageReader((message) => got.push(Buffer.from(message)))
      for (let at = 0, turn = 0; at < stream.length; turn++) {
        const end = at + (cuts[turn % cuts.length] ?? 1)
        expect(read(stream.subarray(at, end))).toBe(true)
        at = end
      }
      expect(got).toEqual(sent.map((message) => Buffer.from(message)))
    }),
  )
})

test('a stream that announces more than any datagram holds is none of ours', () => {
  const read = messageReader(() => undefined)
  expect(read(Buffer.from('GET / HTTP/1.1\r\n\r\n'))).toBe(false)
})

/** A port, what came to it, and how to connect. */
async function portOf(maxPerAddress: number, over: Partial<TcpOptions> = {}) {
  const port = await ownPort()
  const came: { text: string; from: Endpoint }[] = []
  const receive = (message: Buffer, from: Endpoint): void => void came.push({ text: message.toString(), from })
  const tcp: TcpPort = await openTcp({ addresses: ['127.0.0.1'], port, maxPerAddress, ...over }, receive)
  open.push(tcp)
  const join = async (localAddress = '127.0.0.1'): Promise<{ socket: Socket; isOpen: () => boolean }> => {
    const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => undefined)
    open.push({ close: () => socket.destroy() })
    const state = { isOpen: true }
    socket.resume().on('close', () => (state.isOpen = false))
    await once(socket, 'connect')
    return { socket, isOpen: () => state.isOpen }
  }
  return { tcp, came, join }
}

test('silent connections kept all others out; the oldest of them gives way', async () => {
  const { tcp, came, join } = await portOf(3)
  const known = await join()
  known.socket.write(framed(Buffer.from('known')))
  await expect.poll(() => came.length).toBe(1)
  const [{ from } = { from: addressOf(0) }] = came
  tcp.send(Buffer.from('answer'), from)
  const silent = [await join(), await join()]
  // Half a message is no more than silence.
  silent[1]?.socket.write(Buffer.from([0]))
  const late = await join()
  await expect.poll(() => silent[0]?.isOpen()).toBe(false)
  late.socket.write(framed(Buffer.from('late')))
  await expect.poll(() => came.map(({ text }) => text)).toEqual(['known', 'late'])
  expect([known.isOpen(), silent[1]?.isOpen(), late.isOpen()]).toEqual([true, true, true])
})

test('one address kept all others out with connections that had answers; it has a quarter of them now', async () => {
  const { tcp, came, join } = await portOf(2, { maxConnections: 4 })
  const known = async (address: string) => {
    const joined = await join(address)
    joined.socket.write(framed(Buffer.from('known')))
    await expect.poll(() => came.at(-1)?.from.port, POLL).toBe(joined.socket.localPort)
    tcp.send(Buffer.from('answer'), came.at(-1)?.from ?? addressOf(0))
    return joined
  }
  const first = [await known('127.0.0.1'), await known('127.0.0.1')]
  const third = await join('127.0.0.1')
  await expect.poll(third.isOpen, POLL).toBe(false)
  const second = await known('127.0.0.2')
  const silent = await join('127.0.0.2')
  // The port is full: what has no answer gives way to another address.
  const other = await known('127.0.0.3')
  await expect.poll(silent.isOpen, POLL).toBe(false)
  expect([...first, second, other].map(({ isOpen }) => isOpen())).toEqual([true, true, true, true])
  const looks = looksAtAll()
  const late = await join('127.0.0.4')
  await expect.poll(late.isOpen, POLL).toBe(false)
  // Each connection of a stranger would look at all that have answers.
  expect(looks()).toBe(0)
})

/** How many things were looked at, where all of them may be. */
function looksAtAll(): () => number {
  let looks = 0
  const iterator = Reflect.get(ByAddress.prototype, Symbol.iterator) as () => Iterator<unknown>
  const spy = vi.spyOn(ByAddress.prototype, Symbol.iterator).mockImplementation(function* (this: ByAddress<unknown>) {
    for (const one of { [Symbol.iterator]: () => iterator.call(this) }) {
      looks += 1
      yield one
    }
  })
  open.push({ close: () => spy.mockRestore() })
  return () => looks
}

test.each([{ unknownMs: 20 }, { silentMs: 20 }])(
  'a connection without a word is closed after its time: %j',
  async (over) => {
    const { isOpen } = await (await portOf(3, over)).join()
    // The other time is longer than this.
    await expect.poll(isOpen, POLL).toBe(false)
  },
)

test('a stranger that sends message after message without an answer is closed, and few of them are looked at', async () => {
  const { tcp, came, join } = await portOf(10)
  const [known, stranger, empty] = [await join(), await join(), await join()]
  known.socket.write(framed(Buffer.from('known')))
  await expect.poll(() => came.length, POLL).toBe(1)
  tcp.send(Buffer.from('answer'), came[0]?.from ?? addressOf(0))
  for (const [{ socket }, text] of [
    [stranger, 'x'],
    [empty, ''],
    [known, 'y'],
  ] as const)
    socket.write(Buffer.concat(Array<Buffer>(20_000).fill(framed(Buffer.from(text)))))
  const count = (text: string) => came.filter((one) => one.text === text).length
  await expect.poll(() => count('y'), POLL).toBe(20_000)
  await expect.poll(() => [stranger, empty, known].map(({ isOpen }) => isOpen()), POLL).toEqual([false, false, true])
  expect(count('x')).toBe(500)
})

test('of connections with many small messages one is read in each turn of the event loop', async () => {
  const { tcp, came, join } = await portOf(10)
  const joined = [await join(), await join(), await join()]
  for (const { socket } of joined) socket.write(framed(Buffer.from('known')))
  await expect.poll(() => came.length, POLL).toBe(3)
  for (const { from } of came.slice()) tcp.send(Buffer.from('answer'), from)
  const READ = 65_536
  const flood = Buffer.concat(Array<Buffer>(100_000).fill(framed(Buffer.from('x'))))
  for (const { socket } of joined) socket.write(flood)
  const inTurns: number[] = []
  for (let before = came.length; came.length < 300_003; before = came.length) {
    await new Promise((resolve) => setImmediate(resolve))
    inTurns.push(came.length - before)
  }
  // The first one of each connection may come with those of others.
  expect(Math.max(...inTurns)).toBeLessThanOrEqual(3 * Math.ceil(READ / 3))
})

test('peers that do not read kept a megabyte each; together they have a bound, and each its share', async () => {
  const { tcp, came, join } = await portOf(10, { maxWaitingBytes: 200_000 })
  for (const { socket } of [await join(), await join()]) socket.pause().write(framed(Buffer.from('known')))
  await expect.poll(() => came.length, POLL).toBe(2)
  const writes = vi.spyOn(Socket.prototype, 'write')
  // More than the buffers of both ends.
  for (let sent = 0; sent < 4096; sent++) for (const { from } of came) tcp.send(Buffer.alloc(4096), from)
  const waiting = [...new Set(writes.mock.contexts as Socket[])].map(({ writableLength }) => writableLength)
  writes.mockRestore()
  expect(waiting).toHaveLength(2)
  for (const bytes of waiting) expect([bytes > 100_000, bytes < 100_000 + 2 * 4098]).toEqual([true, true])
})

test('each connection has a number of its own, which is no socket of UDP, and its place is free when it ends', async () => {
  const { tcp, came, join } = await portOf(2)
  const [one, two] = [await join(), await join()]
  for (const { socket } of [one, two]) {
    socket.write(framed(Buffer.alloc(4096, 'x')))
    await expect.poll(() => came.at(-1)?.from.port, POLL).toBe(socket.localPort)
  }
  expect(came.map(({ text, from }) => [text.length, isTcp(from), from.address])).toEqual([
    [4096, true, '127.0.0.1'],
    [4096, true, '127.0.0.1'],
  ])
  expect(came[0]?.from.via).not.toBe(came[1]?.from.via)
  for (const { from } of came) tcp.send(Buffer.from('answer'), from)
  one.socket.destroy()
  await expect
    .poll(async () => {
      const { socket } = await join()
      socket.write(framed(Buffer.from('late')))
      return came.at(-1)?.text
    }, POLL)
    .toBe('late')
  expect(two.isOpen()).toBe(true)
})

test('where every connection has an answer, one more is closed, and the others stay', async () => {
  const { tcp, came, join } = await portOf(1)
  const known = await join()
  known.socket.write(framed(Buffer.from('known')))
  await expect.poll(() => came.length, POLL).toBe(1)
  tcp.send(Buffer.from('answer'), came[0]?.from ?? addressOf(0))
  const late = await join()
  await expect.poll(late.isOpen, POLL).toBe(false)
  expect(known.isOpen()).toBe(true)
  known.socket.write(framed(Buffer.alloc(4097)))
  await expect.poll(known.isOpen, POLL).toBe(false)
  // There is no such connection any more.
  tcp.send(Buffer.from('answer'), came[0]?.from ?? addressOf(0))
  tcp.release(came[0]?.from ?? addressOf(0))
})

test('a connection of a session is closed with it, after what was said last', async () => {
  const { tcp, came, join } = await portOf(3)
  const { socket, isOpen } = await join()
  const heard: Buffer[] = []
  socket.on('data', (chunk: Buffer) => heard.push(chunk))
  socket.write(framed(Buffer.from('hello')))
  await expect.poll(() => came.length).toBe(1)
  const [{ from } = { from: addressOf(0) }] = came
  // No packet of media is so long, but a publisher may call something so a packet of sound.
  tcp.send(Buffer.alloc(70_000), from)
  tcp.send(Buffer.from('goodbye'), from)
  tcp.release(from)
  await expect.poll(isOpen).toBe(false)
  expect(Buffer.concat(heard)).toEqual(framed(Buffer.from('goodbye')))
})

test('what a peer does not read is dropped, beyond a second of a fast stream', async () => {
  const { tcp, came, join } = await portOf(3)
  const { socket } = await join()
  let received = 0
  socket.pause().on('data', (chunk: Buffer) => (received += chunk.length))
  socket.write(framed(Buffer.from('hello')))
  await expect.poll(() => came.length).toBe(1)
  const [{ from } = { from: addressOf(0) }] = came
  const count = 20_000
  for (let times = 0; times < count; times++) tcp.send(Buffer.alloc(1000), from)
  tcp.release(from)
  socket.resume()
  await once(socket, 'close')
  expect(received).toBeGreaterThan(1_000_000)
  expect(received).toBeLessThan((count * 1002) / 2)
})

test('a viewer held connections for as long as it liked, one for each check that it ever made', async () => {
  const released: number[] = []
  const net = new WireNet({ release: ({ via }) => void released.push(via) })
  const publisher = new WirePeer(net, addressOf(1))
  publisher.publish(net.relay, 'publisher')
  for (let via = 1000; via < 1040; via++) publisher.check({ from: { ...addressOf(5), via }, useCandidate: false })
  expect(released).toEqual(Array.from({ length: 24 }, (_, at) => 1000 + at))
  net.relay.end('publisher')
  expect(released).toHaveLength(40)
})

/** Another program has the first port that is wanted over TCP. */
function takesFirst(): typeof openTcp {
  let isTaken = false
  return async (options, receive) => {
    if (!isTaken) {
      isTaken = true
      const other = createServer().listen(options.port, '127.0.0.1')
      open.push(other)
      await once(other, 'listening')
    }
    return openTcp(options, receive)
  }
}

test('a media process kept a port that was free over UDP alone, and peers without UDP could not connect', async () => {
  const any = await openPorts(
    { host: '127.0.0.1', port: 0, random: systemRandom },
    false,
    () => undefined,
    takesFirst(),
  )
  open.push(any.udp, { close: () => any.tcp?.close() })
  expect(any).toMatchObject({ tcp: expect.anything() as unknown, note: expect.not.stringContaining('TCP') as unknown })
})

test('a port that was chosen and is taken over TCP serves UDP, and the log says what cannot connect', async () => {
  const port = await ownPort()
  const { udp, tcp, note } = await openPorts(
    { host: '127.0.0.1', port, random: systemRandom },
    false,
    () => undefined,
    takesFirst(),
  )
  open.push(udp)
  expect([udp.port, tcp]).toEqual([port, null])
  expect(note).toContain(`Peers that cannot send UDP cannot connect: TCP port ${port} cannot be opened.`)
})
