import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { until } from './until.ts'

export interface AcceptedSocket {
  readonly socket: Socket
  /** The server's end of it. */
  readonly served: Socket
  /** Sends bytes, and waits until the server has read all of them, or has closed the connection. */
  readonly send: (bytes: string | Buffer) => Promise<void>
}

const ACCEPTED = 'net.server.socket'

/** A connection to a server of this process, so that the test knows what the server has read. */
export async function dialOwnServer(port: number): Promise<AcceptedSocket> {
  const accepted = new Map<number | undefined, Socket>()
  const note = (message: unknown): void => {
    const { socket: served } = message as { socket: Socket }
    accepted.set(served.remotePort, served)
  }
  subscribe(ACCEPTED, note)
  const socket = connect(port, '127.0.0.1').setNoDelay()
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  const served = await until(() => accepted.get(socket.localPort))
  unsubscribe(ACCEPTED, note)
  let sent = 0
  return {
    socket,
    served,
    send: async (bytes) => {
      sent += Buffer.byteLength(bytes)
      socket.write(bytes)
      await until(() => served.destroyed || served.bytesRead >= sent)
    },
  }
}
