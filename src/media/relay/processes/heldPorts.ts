import { createSocket, type Socket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import { hasCode } from '../../../base/errorCode.ts'

/**
 * The UDP ports of media processes that do not run yet. Another server on this machine finds them taken when it starts, and not
 * when its first client comes.
 */
export class HeldPorts {
  readonly #sockets = new Map<number, Socket>()

  /**
   * A port that another program has is left to the process that will need it, which says so.
   * @param host '': every address
   * @param port 0: none is held
   */
  async hold(host: string, port: number): Promise<void> {
    if (port === 0) return
    const bound = await bind(host || '::', port)
    if (bound !== null) this.#sockets.set(port, bound)
  }

  /** Frees a port at once, for the process that starts. */
  release(port: number): void {
    this.#sockets.get(port)?.close()
    this.#sockets.delete(port)
  }

  releaseAll(): void {
    for (const port of this.#sockets.keys()) this.release(port)
  }
}

/** Null: it cannot be bound. */
function bind(host: string, port: number): Promise<Socket | null> {
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4')
  return new Promise((resolve) => {
    socket.once('error', (error) => {
      socket.close()
      // Without IPv6, `::` cannot be bound.
      resolve(hasCode(error, 'EAFNOSUPPORT') && isIPv6(host) ? bind('0.0.0.0', port) : null)
    })
    socket.bind({ address: host, port, exclusive: true }, () => resolve(socket.unref()))
  })
}
