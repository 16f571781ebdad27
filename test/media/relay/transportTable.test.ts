import { expect, test } from 'vitest'
import { TransportTable } from '../../../src/media/relay/transport/transportTable.ts'
import type { Endpoint } from '../../../src/media/relay/transport/socket.ts'
import { FIRST_VIA } from '../../../src/media/relay/transport/tcp.ts'

const at = (port: number): Endpoint => ({ via: 0, address: '192.0.2.7', port })

test('an address that is checked again and again stays, however many others a peer tries', () => {
  const directory = new TransportTable<{ name: string }>()
  const transport = { name: 'with many interfaces' }
  for (let port = 2; port < 100; port++) {
    directory.locate(transport, at(1), true)
    directory.locate(transport, at(port), false)
  }
  expect(directory.at(at(1))).toBe(transport)
  expect(directory.at(at(99))).toBe(transport)
  expect(directory.at(at(50))).toBeUndefined()
})

test('one session held sixteen connections of those that all sessions over TCP share', () => {
  const released: number[] = []
  const directory = new TransportTable<{ name: string }>(({ via }) => void released.push(via))
  const transport = { name: 'with many connections' }
  for (let port = 1; port <= 4; port++) directory.locate(transport, at(port), true)
  for (let n = 0; n < 10; n++) directory.locate(transport, { ...at(5), via: FIRST_VIA + n }, true)
  expect(released).toEqual([FIRST_VIA, FIRST_VIA + 1])
  // Those over UDP cost nothing, and stay.
  expect(directory.at(at(1))).toBe(transport)
})

test('an address belongs to the transport that was checked there last, and to none once that is gone', () => {
  const directory = new TransportTable<{ name: string }>()
  const [first, second] = [{ name: 'first' }, { name: 'second' }]
  directory.locate(first, at(1), true)
  directory.locate(second, at(1), true)
  directory.remove(first)
  expect(directory.at(at(1))).toBe(second)
  directory.remove(second)
  expect(directory.at(at(1))).toBeUndefined()
})

test('an address that a peer proved is not taken by an unproved claim', () => {
  const directory = new TransportTable<{ name: string }>()
  const [first, second] = [{ name: 'first' }, { name: 'second' }]
  directory.locate(first, at(1), true)
  directory.locate(first, at(1), false)
  directory.locate(second, at(1), false)
  expect(directory.at(at(1))).toBe(first)
  directory.locate(second, at(2), false)
  directory.locate(first, at(2), false)
  expect(directory.at(at(2))).toBe(first)
})

test('of the names that a peer had, the present one and the one before lead to it', () => {
  const directory = new TransportTable<{ name: string }>()
  const transport = { name: 'restarts' }
  for (const name of ['a', 'b', 'c']) directory.name(transport, name)
  expect(['a', 'b', 'c'].map((name) => directory.named(name))).toEqual([undefined, transport, transport])
  directory.remove(transport)
  expect([directory.named('c'), ...directory.all()]).toEqual([undefined])
})
