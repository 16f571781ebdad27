import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { PendingHandshakes } from '../../src/edge/http/handshakes.ts'
import { until } from '../support/until.ts'

type Handshakes = PendingHandshakes<{ socket: Socket; addressKey: string }>

const open: { close(): void }[] = []
afterEach(() => {
  for (const one of open.splice(0)) one.close()
})

/** Clients that connect and say nothing; the sockets of the server, in their order. `begun` runs in the turn of each. */
async function silent(count: number, pending: Handshakes, begun = () => {}, addressKeys: readonly string[] = []) {
  const accepted: Socket[] = []
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    accepted.push(socket)
    pending.begin({ socket, addressKey: addressKeys[accepted.length - 1] ?? '' })
    begun()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  open.push(server, pending)
  for (let at = 0; at < count; at += 1) {
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
    client.on('error', () => undefined)
    open.push({ close: () => client.destroy() })
    await until(() => accepted.length === at + 1)
  }
  return accepted
}

test('a client that never begins its handshake is disconnected', async () => {
  const pending: Handshakes = new PendingHandshakes({ handshakeMs: 50, max: 10 })
  const [socket] = await silent(1, pending)
  await until(() => socket?.destroyed === true)
  expect(pending.counts).toEqual({ done: 0, failed: 0, timedOut: 1, gaveWay: 0 })
})

test('with too many handshakes under way the oldest gives way', async () => {
  const pending: Handshakes = new PendingHandshakes({ handshakeMs: 60_000, max: 2 })
  const [first, second, third] = await silent(3, pending)
  await until(() => first?.destroyed === true)
  expect([second, third].map((socket) => socket?.destroyed)).toEqual([false, false])
  expect(pending.counts.gaveWay).toBe(1)
})

test('one address ended the handshakes of all others, which were the oldest; it ends its own', async () => {
  const pending: Handshakes = new PendingHandshakes({ handshakeMs: 60_000, max: 4 })
  const sockets = await silent(5, pending, undefined, ['distant', 'flood', 'flood', 'flood', 'flood'])
  await until(() => pending.counts.gaveWay === 2)
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, true, true, false, false])
})

test('a handshake that ended is no longer limited, and one that its client gave up is counted as failed', async () => {
  const pending: Handshakes = new PendingHandshakes({ handshakeMs: 60_000, max: 2 })
  const [first, second] = await silent(2, pending)
  expect(pending.end(first!)?.socket).toBe(first)
  expect(pending.end(first!)).toBeNull()
  second?.destroy()
  await until(() => pending.counts.failed === 1)
  pending.close()
  expect(first?.destroyed).toBe(false)
  expect(pending.counts).toEqual({ done: 1, failed: 1, timedOut: 0, gaveWay: 0 })
})

/** Timers that are due come after the first of them. */
async function twoTurns(): Promise<void> {
  for (let turns = 0; turns < 2; turns += 1) await new Promise((resolve) => setImmediate(resolve))
}

test('a pause of the process ends no handshake; a client that says nothing afterwards is disconnected', async () => {
  const pending: Handshakes = new PendingHandshakes({ handshakeMs: 50, max: 10 })
  const looks: Promise<number>[] = []
  const [socket] = await silent(1, pending, () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500)
    looks.push(twoTurns().then(() => pending.counts.timedOut))
  })
  expect(await Promise.all(looks)).toEqual([0])
  await until(() => socket?.destroyed === true)
  expect(pending.counts).toEqual({ done: 0, failed: 0, timedOut: 1, gaveWay: 0 })
})
