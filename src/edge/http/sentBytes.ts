import type { Socket } from 'node:net'

/** Bytes of each connection that left without Node, which does not count them. */
const WITHOUT_NODE = new WeakMap<Socket, number>()

export function countWithoutNode(socket: Socket, bytes: number): void {
  WITHOUT_NODE.set(socket, (WITHOUT_NODE.get(socket) ?? 0) + bytes)
}

/** The bytes that were sent on a connection, or that Node has taken to send. */
export const sentBytes = (socket: Socket): number => socket.bytesWritten + (WITHOUT_NODE.get(socket) ?? 0)
