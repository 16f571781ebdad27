import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { createEgress, type EgressOptions } from '../../src/net/egress.ts'
import { publicNames } from '../../src/net/resolve.ts'
import { httpReceiver, type Receiver } from './support/receivers.ts'
import { NameServer } from './support/nameServer.ts'

const stops: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop()
})

async function receiverAt(address: string, port = 0): Promise<Receiver> {
  const receiver = await httpReceiver(undefined, { address, port })
  stops.push(() => receiver.stop())
  return receiver
}

async function namesFrom(...answers: string[][]) {
  const server = new NameServer(...answers)
  stops.push(() => server.stop())
  return { server, resolver: publicNames([await server.start()]) }
}

async function post(url: string, options: Partial<EgressOptions>) {
  const egress = createEgress({ allowPrivateTargets: false, ...options })
  stops.push(() => egress.close())
  return egress.send({ url, method: 'POST', headers: {}, body: Buffer.from('{}') })
}

/** Plain http to names, with 127.0.0.2 in the role of a public address; 127.0.0.1 stays private. */
const STAGED = { allowPrivateTargets: true, allowAddress: (address: string) => address === '127.0.0.2' }

describe('a name', () => {
  test('that resolves to a public address first and to loopback later reaches only the first', async () => {
    const honest = await receiverAt('127.0.0.2')
    const victim = await receiverAt('127.0.0.1', honest.port)
    const { server, resolver } = await namesFrom(['127.0.0.2'], ['127.0.0.1'])
    const url = `http://rebind.example.com:${honest.port}/`

    expect(await post(url, { ...STAGED, resolver })).toMatchObject({ kind: 'answered' })
    expect(server.questions).toBe(1)
    expect(honest.requests).toHaveLength(1)

    const second = await post(url, { ...STAGED, resolver })
    expect(second).toMatchObject({ kind: 'failed', stage: 'refused', code: 'target_not_allowed' })
    expect(victim.connections).toBe(0)
  })

  test('with a public and a private address is refused as a whole, in either order', async () => {
    const honest = await receiverAt('127.0.0.2')
    for (const answer of [
      ['127.0.0.2', '127.0.0.1'],
      ['127.0.0.1', '127.0.0.2'],
    ]) {
      const { resolver } = await namesFrom(answer)
      const outcome = await post(`http://mixed.example.com:${honest.port}/`, { ...STAGED, resolver })
      expect(outcome).toMatchObject({ kind: 'failed', stage: 'refused' })
    }
    expect(honest.connections).toBe(0)
  })

  test('is checked on the socket too, in case the connection has another peer', async () => {
    const victim = await receiverAt('127.0.0.1')
    let asked = 0
    const outcome = await post(`http://odd.example.com:${victim.port}/`, {
      allowPrivateTargets: true,
      resolver: async () => ['127.0.0.1'],
      allowAddress: () => ++asked === 1,
    })
    expect(outcome).toMatchObject({ kind: 'failed', stage: 'refused', code: 'target_not_allowed' })
    expect(asked).toBe(2)
    expect(victim.requests).toEqual([])
  })

  test('is checked by what needs a descriptor: without one the connection that took the last was left open', async () => {
    const accepted = Promise.withResolvers<Socket>()
    const server = createServer((socket) => accepted.resolve(socket)).listen(0, '127.0.0.1')
    stops.push(() => server.close())
    await once(server, 'listening')
    let asked = 0
    const outcome = await post(`http://odd.example.com:${(server.address() as AddressInfo).port}/`, {
      allowPrivateTargets: true,
      resolver: async () => ['127.0.0.1'],
      allowAddress() {
        if (++asked === 2) throw new Error('EMFILE')
        return true
      },
    })
    expect(outcome).toMatchObject({ kind: 'failed', stage: 'connect' })
    const socket = await accepted.promise
    stops.push(() => socket.destroy())
    socket.resume()
    await once(socket, 'close')
  })

  test('without addresses, and one that does not exist, fail while resolving', async () => {
    const { resolver } = await namesFrom([])
    const outcome = await post('https://empty.example.com/', { resolver })
    expect(outcome).toMatchObject({ kind: 'failed', stage: 'resolve', code: 'name_not_found' })
  })
})

describe('with production rules, nothing is dialled when a name resolves to', () => {
  test.each([
    '127.0.0.1',
    '0.0.0.0',
    '10.1.2.3',
    '169.254.169.254',
    '100.100.100.200',
    '168.63.129.16',
    '192.168.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::7f00:1',
    '::127.0.0.1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::7f00:1',
    '64:ff9b::10.0.0.1',
    '64:ff9b:1:1::8.8.8.8',
    '64:ff9b:1::a00:1',
    '2002:7f00:1::',
    '2001::1',
    '2001:db8::1',
    '2606:4700:0:0:0:5efe:7f00:1',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fe80::1%lo',
    'fec0::1',
    'ff02::1',
    '5f00::1',
    'localhost',
    '',
  ])('%s', async (address) => {
    const outcome = await post('https://hook.example.com/', { resolver: async () => [address] })
    expect(outcome).toMatchObject({ kind: 'failed', stage: 'refused', code: 'target_not_allowed' })
  })
})
