import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, onTestFinished } from 'vitest'
import type { Splice } from '../../src/base/splice.ts'

/** Frees what nothing refers to. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect === 'function') collect()
}

/** A segment of two parts, and its bytes in Node's own memory. */
export function segmentOf(splice: Splice, length: number): { joined: Buffer; bytes: Buffer } {
  const bytes = randomBytes(length)
  const at = Math.floor(length / 3)
  const joined = splice.join([bytes.subarray(0, at), bytes.subarray(at)])
  if (joined === null) throw new Error('there is no memory')
  return { joined, bytes }
}

const NAMES: readonly (keyof Splice)[] = [
  'join',
  'send',
  'watch',
  'add',
  'arm',
  'answer',
  'run',
  'sent',
  'forget',
  'unwatch',
  'read',
]

/** An addon of these functions. All others fail the test. */
export function fakeSplice(functions: Partial<Splice>): Splice {
  const failing = NAMES.map((name) => [name, () => expect.fail(`nothing should call ${name}`)])
  return { ...Object.fromEntries(failing), ...functions }
}

/** A connection that lasts as long as the test. */
export async function dial(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
  socket.on('error', () => undefined)
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  return socket
}
