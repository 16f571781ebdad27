import type { Socket } from 'node:net'

/** Undocumented internals of Node's sockets. `hls/spliceProof.ts` tests them at each start. */
export interface SocketHandle {
  readonly fd: number
  /** What libuv could not write yet, bytes. */
  readonly writeQueueSize: number
  /** What Node has passed to libuv, bytes. */
  readonly bytesWritten: number
  /** That of the connection below, if this one is encrypted. */
  readonly _parent?: SocketHandle
  readStart(): number
  readStop(): number
}

/** Null: the socket is closed. */
export const handleOf = (socket: Socket): SocketHandle | null =>
  (socket as { readonly _handle?: SocketHandle | null })._handle ?? null
