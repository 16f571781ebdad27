import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import * as fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { systemRandom } from '../../../src/base/random.ts'
import { loadNative } from '../../../src/media/relay/transport/nativeAddon.ts'
import { type Endpoint, openUdp, type UdpPort } from '../../../src/media/relay/transport/socket.ts'
import { UDP_KINDS } from '../../support/ipv6.ts'
import { until } from '../../support/until.ts'
import { carriesAlike, openNativeUdp, type UdpAddon } from '../../../src/media/relay/transport/udpNative.ts'

const native = loadNative()
const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

interface Came {
  readonly datagram: Buffer
  readonly from: Endpoint
}

const keep = (came: Came[]) => (datagram: Buffer, from: Endpoint) =>
  void came.push({ datagram: Buffer.from(datagram), from })

async function peerAt(type: 'udp4' | 'udp6', address: string): Promise<{ socket: Socket; came: Buffer[] }> {
  const socket = createSocket({ type, recvBufferSize: 1 << 21 }).bind(0, address)
  await once(socket, 'listening')
  closers.push(() => socket.close())
  const came: Buffer[] = []
  socket.on('message', (datagram) => came.push(datagram))
  return { socket, came }
}

if (!native.ok) {
  it('is not here, and the reason is a sentence', () => expect(native.error).toMatch(/^The native .*\.$/))
} else {
  const { udp: addon } = native.value

  const openBoth = async (host: string) => {
    const [fast, slow]: Came[][] = [[], []]
    const ports: UdpPort[] = [
      await openNativeUdp(addon, { host, port: 0 }, keep(fast as Came[])),
      await openUdp({ host, port: 0, random: systemRandom }, keep(slow as Came[])),
    ]
    closers.push(...ports.map((port) => () => port.close()))
    return { ports: ports as [UdpPort, UdpPort], fast: fast as Came[], slow: slow as Came[] }
  }

  describe('a native UDP port', () => {
    it('says how long each datagram waited in the socket', async () => {
      const waits: number[] = []
      const host = '127.0.0.1'
      const port = await openNativeUdp(addon, { host, port: 0 }, (_datagram, _from, waitedMs = -1) =>
        waits.push(waitedMs),
      )
      const sender = await openNativeUdp(addon, { host, port: 0 }, () => undefined)
      closers.push(
        () => port.close(),
        () => sender.close(),
      )
      const waitOf = async (ms: number): Promise<number> => {
        const count = waits.length
        sender.send(Buffer.from('a'), { address: host, port: port.port, via: 0 })
        // Nothing is read meanwhile.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
        await expect.poll(() => waits).toHaveLength(count + 1)
        return waits.at(-1) ?? 0
      }
      // Linux begins to note times a moment after the first socket of the machine asked for them.
      await until(async () => (await waitOf(20)) >= 19)
      const waitedMs = await waitOf(100)
      expect(waitedMs).toBeGreaterThanOrEqual(99)
      expect(waitedMs).toBeLessThan(60_000)
    })

    it.each(UDP_KINDS)('hands over what a socket of Node does, from the same addresses (%s)', async (type, host) => {
      const { ports, fast, slow } = await openBoth(host)
      const peers = [await peerAt(type, host), await peerAt(type, host)]
      // More than one call reads, of all sizes that there are.
      const sizes = Array.from({ length: 90 }, (_, at) => (at * 37) % 2049 || 1)
      for (const [at, size] of sizes.entries())
        for (const { port } of ports) peers[at % 2]?.socket.send(Buffer.alloc(size, at), port, host)
      await expect.poll(() => [fast.length, slow.length]).toEqual([sizes.length, sizes.length])
      const reported = (all: Came[]): string[] =>
        all.map(({ datagram, from }) => `${from.address} ${from.port} ${from.via} ${datagram.toString('hex')}`)
      // The order of two peers is open.
      expect(reported(fast).toSorted()).toEqual(reported(slow).toSorted())
    })

    it.each(UDP_KINDS)('answers from the address and the port that it was asked at (%s)', async (type, host) => {
      const { ports, fast } = await openBoth(host)
      const { socket, came } = await peerAt(type, host)
      const senders: string[] = []
      socket.on('message', (_, { address, port }) => senders.push(`${address} ${port}`))
      socket.send('ping', ports[0].port, host)
      await expect.poll(() => fast.length).toBe(1)
      for (const { from } of fast) for (const text of ['one', 'two', '']) ports[0].send(Buffer.from(text), from)
      await expect.poll(() => came.map(String)).toEqual(['one', 'two', ''])
      expect(new Set(senders)).toEqual(new Set([`${host} ${ports[0].port}`]))
    })

    it('drops what is longer than any packet of media, and empty ones, and goes on', async () => {
      const { ports, fast } = await openBoth('127.0.0.1')
      const { socket } = await peerAt('udp4', '127.0.0.1')
      for (const size of [2049, 60_000, 0, 5]) socket.send(Buffer.alloc(size, 1), ports[0].port, '127.0.0.1')
      await expect.poll(() => fast.map(({ datagram }) => datagram.length)).toEqual([5])
    })

    it('sends nothing where its socket cannot reach', async () => {
      const { ports } = await openBoth('127.0.0.1')
      for (const address of ['::1', 'nobody', '::1%lo', ''])
        expect(() => ports[0].send(Buffer.from('x'), { address, port: 9, via: 0 })).not.toThrow()
      expect(() => ports[0].send(Buffer.from('x'), { address: '127.0.0.1', port: 9, via: 7 })).not.toThrow()
    })

    it('a datagram for port 0 ended the process when JavaScript sent it, instead of being dropped', async () => {
      const { ports } = await openBoth('127.0.0.1')
      const { socket, came } = await peerAt('udp4', '127.0.0.1')
      for (const port of ports) {
        port.send(Buffer.from('x'), { address: '127.0.0.1', port: 0, via: 0 })
        port.send(Buffer.from('y'), { address: '127.0.0.1', port: socket.address().port, via: 0 })
      }
      await expect.poll(() => came.map(String)).toEqual(['y', 'y'])
    })

    it('a packet of sound that is larger than a datagram ended the process', async () => {
      const { ports } = await openBoth('127.0.0.1')
      const { socket, came } = await peerAt('udp4', '127.0.0.1')
      const to = { address: '127.0.0.1', port: socket.address().port, via: 0 }
      for (const port of ports) for (const size of [65_508, 100_000, 1]) port.send(Buffer.alloc(size), to)
      await expect.poll(() => came.map(({ length }) => length)).toEqual([1, 1])
    })

    it('binds one port at every address, says which is taken, and gives it back', async () => {
      const first = await openNativeUdp(addon, { host: '', port: 0 }, () => undefined)
      expect(first.addresses).toContain('127.0.0.1')
      expect(first.descriptors.map((fd = 0) => addon.port(fd))).toEqual(first.addresses.map(() => first.port))
      const again = openNativeUdp(addon, { host: '', port: first.port }, () => undefined)
      await expect(again).rejects.toMatchObject({ code: 'EADDRINUSE', port: first.port })
      await first.close()
      const next = await openNativeUdp(addon, { host: '', port: first.port }, () => undefined)
      expect(next.port).toBe(first.port)
      await next.close()
    })

    it('may be closed by what it hands over', async () => {
      const came: Came[] = []
      const port = await openNativeUdp(addon, { host: '127.0.0.1', port: 0 }, (datagram, from) => {
        keep(came)(datagram, from)
        void port.close()
      })
      const { socket } = await peerAt('udp4', '127.0.0.1')
      socket.send('last', port.port, '127.0.0.1')
      await expect.poll(() => came.length).toBeGreaterThan(0)
      const next = await openUdp({ host: '127.0.0.1', port: port.port, random: systemRandom }, () => undefined)
      await next.close()
    })

    it('reports an error of a receiver as Node does, and goes on', async () => {
      const before = process.listeners('uncaughtException')
      process.removeAllListeners('uncaughtException')
      const reported: string[] = []
      process.on('uncaughtException', (error) => reported.push(error.message))
      try {
        const port = await openNativeUdp(addon, { host: '127.0.0.1', port: 0 }, (datagram) => {
          throw new Error(datagram.toString())
        })
        closers.push(() => port.close())
        const { socket } = await peerAt('udp4', '127.0.0.1')
        for (const text of ['first', 'second']) {
          socket.send(text, port.port, '127.0.0.1')
          await expect.poll(() => reported.at(-1)).toBe(text)
        }
      } finally {
        process.removeAllListeners('uncaughtException')
        for (const listener of before) process.on('uncaughtException', listener)
      }
    })

    it('is not used when what it carries is another', () => {
      const receive: UdpAddon['receive'] = (fd) => addon.receive(fd) - 1
      expect(carriesAlike(addon)).toBe(true)
      expect(carriesAlike({ ...addon, receive })).toBe(false)
    })

    it('answers wrong arguments with a TypeError or an error of the system, whatever they are', () => {
      const anything = fc.oneof(
        fc.anything(),
        fc.integer(),
        fc.uint8Array({ maxLength: 40, size: 'max' }).map((b) => Buffer.from(b)),
      )
      const names = (Object.keys(addon) as (keyof UdpAddon)[]).filter((name) => name !== 'close')
      fc.assert(
        fc.property(fc.constantFrom(...names), fc.array(anything, { maxLength: 5 }), (name, args) => {
          try {
            const answer: unknown = Reflect.apply(addon[name], addon, args)
            if (name === 'open' && typeof answer === 'number' && answer >= 0) addon.close(answer)
          } catch (error) {
            expect(error).toBeInstanceOf(TypeError)
          }
        }),
        { numRuns: 2000 },
      )
      for (const fd of [0, 1, 2, 3, 4000]) expect(() => addon.close(fd)).toThrow(TypeError)
    })
  })
}
