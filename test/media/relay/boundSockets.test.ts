import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemRandom } from '../../../src/base/random.ts'
import { BoundSockets } from '../../../src/media/relay/transport/boundSockets.ts'
import { openPorts } from '../../../src/media/relay/transport/port.ts'
import type { Endpoint } from '../../../src/media/relay/transport/socket.ts'

/** Listens at 127.0.0.1, and echoes what it receives. */
async function echo(isNative: boolean) {
  const from: Endpoint[] = []
  const ports = await openPorts({ host: '127.0.0.1', port: 0, random: systemRandom }, isNative, (datagram, peer) => {
    from.push({ ...peer })
    ports.udp.send(Buffer.from(datagram), peer)
  })
  onTestFinished(async () => {
    ports.native?.close()
    await Promise.all([ports.udp.close(), ports.tcp?.close()])
  })
  return { ports, from }
}

/** Sends to an address, and returns where the answer came from. */
async function answerOf(address: string, port: number): Promise<string> {
  const peer = createSocket('udp4').bind(0, '127.0.0.1')
  await once(peer, 'listening')
  const answered = once(peer, 'message') as Promise<[Buffer, RemoteInfo]>
  peer.send('hello', port, address)
  const [, from] = await answered
  peer.close()
  return `${from.address}:${from.port}`
}

describe.each([true, false])('a port whose machine gets another address (native: %s)', (isNative) => {
  it('receives and answers at the new one, over UDP and TCP, and still at the old one for a while', async () => {
    const { ports, from } = await echo(isNative)
    const { port } = ports.udp
    expect(await answerOf('127.0.0.1', port)).toBe(`127.0.0.1:${port}`)
    await ports.follow(['127.0.0.2', '127.0.0.3'])
    expect(ports.udp.addresses).toEqual(['127.0.0.2', '127.0.0.3'])
    for (const address of ['127.0.0.2', '127.0.0.3', '127.0.0.1'])
      expect(await answerOf(address, port)).toBe(`${address}:${port}`)
    expect(from.map(({ via }) => via)).toEqual([0, 1, 2, 0])
    const dialled = connect({ host: '127.0.0.2', port })
    await once(dialled, 'connect')
    dialled.destroy()
    const refused = connect({ host: '127.0.0.1', port })
    await expect(once(refused, 'connect')).rejects.toThrow('ECONNREFUSED')
  })

  it('takes back an address, and goes on without one that cannot be bound', async () => {
    const { ports, from } = await echo(isNative)
    const { port } = ports.udp
    await ports.follow(['127.0.0.2', '192.0.2.1'])
    expect(ports.udp.addresses).toEqual(['127.0.0.2'])
    await ports.follow(['127.0.0.1'])
    expect(ports.udp.addresses).toEqual(['127.0.0.1'])
    expect(await answerOf('127.0.0.1', port)).toBe(`127.0.0.1:${port}`)
    expect(from.at(-1)?.via).toBe(0)
  })
})

it('the socket of an address that is gone is closed after a minute, and then another one can have its index', async () => {
  const open = new Set<string>()
  let nowMs = 0
  const binder = {
    bind: async (address: string) => (open.add(address), address),
    portOf: () => 1,
    close: async (socket: string) => void open.delete(socket),
  }
  const listening: [string, number][] = []
  const first = { addresses: ['a'], sockets: [await binder.bind('a')], port: 1 }
  const bound = new BoundSockets(
    binder,
    first,
    (socket, via) => void listening.push([socket, via]),
    () => nowMs,
  )
  await bound.follow(['b'])
  nowMs = 59_999
  await bound.follow(['b'])
  expect([...open]).toEqual(['a', 'b'])
  nowMs = 60_000
  await bound.follow(['b'])
  expect([[...open], bound.sockets]).toEqual([['b'], [undefined, 'b']])
  await bound.follow(['c', 'b'])
  expect([listening, bound.sockets]).toEqual([
    [
      ['a', 0],
      ['b', 1],
      ['c', 0],
    ],
    ['c', 'b'],
  ])
  await bound.close()
  expect(open.size).toBe(0)
})
