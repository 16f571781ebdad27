import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/**
 * A way to a TCP port of this machine with a round trip. A connection takes one before its first byte, as that of another machine, and
 * each byte half of one. Returns the port.
 */
export async function farTcp(target: number, roundTripMs: number): Promise<number> {
  const server = createServer((client) => {
    const near = connect(target, '127.0.0.1')
    const openAtMs = performance.now() + roundTripMs
    for (const [from, to] of [
      [client, near],
      [near, client],
    ] as const)
      pass(from, to, (nowMs) => Math.max(nowMs, openAtMs) + roundTripMs / 2 - nowMs)
  })
  server.listen(0, '127.0.0.1').unref()
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

function pass(from: Socket, to: Duplex, waitMs: (nowMs: number) => number): void {
  const later = (act: () => void): unknown => setTimeout(act, waitMs(performance.now()))
  from.on('data', (chunk) => later(() => void to.write(chunk)))
  from.on('close', () => later(() => void to.destroy()))
  from.on('error', () => undefined)
}
