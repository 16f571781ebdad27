import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A way to a TCP port of this machine that a test can cut. */
export interface TcpProxy {
  readonly port: number
  /** `closed`: connections end, and new ones do too. `silent`: they stay, and nothing passes, as when packets are lost. */
  cut(how: 'closed' | 'silent'): void
  /** Lets new connections pass again. Those from before are over. */
  open(): void
  close(): Promise<void>
}

export async function tcpProxy(target: number): Promise<TcpProxy> {
  let state: 'open' | 'closed' | 'silent' = 'open'
  const sockets = new Set<Socket>()
  const end = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  const keep = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket))
  }
  const server = createServer((client) => {
    keep(client)
    if (state === 'closed') client.destroy()
    if (state !== 'open') return
    const upstream = connect(target, '127.0.0.1')
    keep(upstream)
    client.pipe(upstream).pipe(client)
    client.once('close', () => upstream.destroy())
    upstream.once('close', () => client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    cut(how) {
      state = how
      if (how === 'closed') return end()
      for (const socket of sockets) socket.unpipe().pause()
    },
    open() {
      state = 'open'
      end()
    },
    async close() {
      end()
      server.close()
      await once(server, 'close')
    },
  }
}
