import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import { repeat } from '../../base/repeat.ts'
import { RtmpConnection } from './connection.ts'
import type { PublishAnswer, PublishRequest, RtmpLimits } from './types.ts'

export interface RtmpOptions {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  readonly log: Logger
  readonly clock: Clock
  readonly random: Random
  readonly limits: RtmpLimits
  /** Decides before the encoder may start; no media is accepted before it agrees. */
  readonly publish: (request: PublishRequest) => Promise<PublishAnswer>
}

export interface RtmpListener {
  readonly port: number
  /** Open connections, admitted or not. */
  connections(): number
  /** Ends every connection and stops listening. Idempotent. */
  stop(): Promise<void>
}

const TICK_MS = 1000

/**
 * Listens for RTMP encoders. Publishing only: playing is refused.
 * @throws the error of `listen`, such as EADDRINUSE
 */
export async function startRtmp(options: RtmpOptions): Promise<RtmpListener> {
  const { host, port, clock, limits, log } = options
  const connections = new Set<RtmpConnection>()
  const server = createServer({ noDelay: true, allowHalfOpen: false }, (socket) => accept(socket))

  function accept(socket: Socket): void {
    if (connections.size >= limits.maxConnections && !makeRoom(connections)) {
      socket.destroy()
      return
    }
    const connection = new RtmpConnection({ ...options, socket })
    connections.add(connection)
    void connection.closed.then(() => connections.delete(connection))
  }

  server.listen(port, host)
  await once(server, 'listening')
  // Most likely out of file descriptors: one connection is lost, the others continue.
  server.on('error', (error) => log.warn({ err: error }, 'an RTMP connection could not be accepted'))
  const ticking = repeat({ clock, log, name: 'look after RTMP connections', everyMs: TICK_MS }, async () => {
    for (const connection of connections) connection.tick(clock.monotonic())
  })
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections.size,
    async stop() {
      const ticked = ticking.stop()
      const closed = server.listening ? once(server, 'close') : null
      if (closed) server.close()
      await Promise.all([...connections].map((connection) => connection.end('stopped')))
      await Promise.all([closed, ticked])
    },
  }
}

/** Ends the oldest connection that is not admitted. */
function makeRoom(connections: Set<RtmpConnection>): boolean {
  for (const connection of connections) {
    if (!connection.isPending) continue
    connections.delete(connection)
    void connection.end('invalid')
    return true
  }
  return false
}
