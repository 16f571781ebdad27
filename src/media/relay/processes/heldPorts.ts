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
   * @param host '': every address
   * @param port 0: none is held
   * @throws the error of `bind`, such as EADDRINUSE: another server that starts at the same time was earlier
   */
  async hold(host: string, port: number): Promise<void> {
    if (port !== 0) this.#sockets.set(port, await bind(host || '::', port))
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

function bind(host: string, port: number): Promise<Socket> {
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4')
  return new Promise((resolve, reject) => {
    socket.once('error', (error) => {
      socket.close()
      // Without IPv6, `::` cannot be bound.
      if (hasCode(error, 'EAFNOSUPPORT') && isIPv6(host)) resolve(bind('0.0.0.0', port))
      else reject(error)
    })
    socket.bind({ address: host, port, exclusive: true }, () => resolve(socket.unref()))
  })
}
