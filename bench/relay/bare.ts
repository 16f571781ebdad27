import { fork, spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { ownAddress } from './contender.ts'

/** What AES-128-GCM and sendmmsg alone cost, in a loop in C that knows nothing of RTP. */

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
const ADDON = path('../../build/native/bare.node')
const PACKETS = 1500

interface Bare {
  run(ports: Uint16Array, address: number, packets: number, bytes: number): number
}

/** Microseconds of CPU for each packet to each of `viewers`, whose sockets are in this process; null without a compiler. */
export async function measureBare(viewers: number, bytes: number): Promise<number | null> {
  spawnSync(process.execPath, [path('../../scripts/native.mjs'), path('bare.c'), ADDON], { stdio: 'ignore' })
  const sockets = await Promise.all(Array.from({ length: viewers }, bound))
  const ports = sockets.map((socket) => socket.address().port)
  const child = fork(path('bare.ts'), ['run', JSON.stringify({ ports, bytes })])
  const answer = await Promise.race([once(child, 'message'), once(child, 'exit')])
  for (const socket of sockets) socket.close()
  return typeof answer[0] === 'object' && answer[0] !== null ? (answer[0] as { us: number }).us : null
}

async function bound() {
  const socket = createSocket({ type: 'udp4', recvBufferSize: 1 << 20 }).bind(0, ownAddress())
  socket.on('message', () => undefined)
  await once(socket, 'listening')
  return socket
}

function run({ ports, bytes }: { ports: number[]; bytes: number }): void {
  const bare = createRequire(import.meta.url)(ADDON) as Bare
  const address = ownAddress()
    .split('.')
    .reduce((sum, part) => sum * 256 + Number(part), 0)
  const ns = bare.run(Uint16Array.from(ports), address, PACKETS, bytes)
  process.send?.({ us: ns / 1000 / PACKETS / ports.length }, () => process.exit())
}

if (process.argv[2] === 'run' && process.argv[1] === path('bare.ts')) run(JSON.parse(process.argv[3] ?? ''))
