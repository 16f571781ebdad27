import type { Socket } from 'node:net'

/** Bytes of a connection, from and to the client. */
export interface Passed {
  readonly in: number
  readonly out: number
}

export const NO_BYTES: Passed = { in: 0, out: 0 }

/** Bytes of each connection that passed without Node, which does not count them. */
const WITHOUT_NODE = new WeakMap<Socket, Passed>()

export function countWithoutNode(socket: Socket, more: Passed): void {
  const before = WITHOUT_NODE.get(socket) ?? NO_BYTES
  WITHOUT_NODE.set(socket, { in: before.in + more.in, out: before.out + more.out })
}

/** The bytes that came, and those that were sent or that Node has taken to send. */
export function passedBytes(socket: Socket): Passed {
  const { in: read, out: sent } = WITHOUT_NODE.get(socket) ?? NO_BYTES
  return { in: socket.bytesRead + read, out: socket.bytesWritten + sent }
}
