import { fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { ownAddress } from './contender.ts'
import { packed, Sockets } from './sockets.ts'

/** The cost of AES-128-GCM and sendmmsg alone, in a loop in C without any RTP. */

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
const ADDON = path('../../build/native/bare.node')
const PACKETS = 1500

interface Bare {
  run(ports: Uint16Array, address: number, packets: number, bytes: number): number
}

/**
 * Microseconds of CPU per packet to each of `viewers`, whose sockets equal those of the relays' viewers; null without a
 * compiler.
 */
export async function measureBare(viewers: number, bytes: number): Promise<number | null> {
  spawnSync(process.execPath, [path('../../scripts/native.mjs'), path('bare.c'), ADDON], { stdio: 'ignore' })
  const sockets = new Sockets(viewers)
  const ports = Array.from({ length: viewers }, () => sockets.open(() => undefined).port)
  const child = fork(path('bare.ts'), ['run', JSON.stringify({ ports, bytes })])
  const answer = await Promise.race([once(child, 'message'), once(child, 'exit')])
  sockets.close()
  return typeof answer[0] === 'object' && answer[0] !== null ? (answer[0] as { us: number }).us : null
}

function run({ ports, bytes }: { ports: number[]; bytes: number }): void {
  const bare = createRequire(import.meta.url)(ADDON) as Bare
  const ns = bare.run(Uint16Array.from(ports), packed(ownAddress()), PACKETS, bytes)
  process.send?.({ us: ns / 1000 / PACKETS / ports.length }, () => process.exit())
}

if (process.argv[2] === 'run' && process.argv[1] === path('bare.ts')) run(JSON.parse(process.argv[3] ?? ''))
