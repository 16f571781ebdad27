import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { type SecureContext, TLSSocket } from 'node:tls'
import { ByAddress } from '../../base/byAddress.ts'
import type { Clock } from '../../base/clock.ts'
import { LateLooks } from '../../base/lateLooks.ts'
import type { Logger } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import { halfway } from '../../base/numbers.ts'
import { repeat } from '../../base/repeat.ts'
import { eachWalled } from '../../base/walls.ts'
import { addressKeyOf, networkKey } from '../../core/access/address.ts'
import { RtmpConnection } from './connection.ts'
import type { PublishAnswer } from '../publishing.ts'
import type { PublishRequest, RtmpLimits } from './types.ts'

export interface RtmpOptions {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** RTMPS with the current certificate on a port of its own; absent: none. 0: any free port. */
  readonly tls?: { readonly port: number; readonly context: () => SecureContext }
  readonly log: Logger
  readonly clock: Clock
  readonly random: Random
  readonly limits: RtmpLimits
  /** Decides before the publisher may start; no media is accepted before it agrees. */
  readonly publish: (request: PublishRequest) => Promise<PublishAnswer>
}

export interface RtmpListener {
  readonly port: number
  /** Null: no RTMPS. */
  readonly tlsPort: number | null
  /** Open connections, admitted or not. */
  connections(): number
  /** Ends every connection and stops listening. Idempotent. */
  stop(): Promise<void>
}

const TICK_MS = 1000

/**
 * Listens for RTMP publishers. Publishing only: playing is refused.
 * @throws the error of `listen`, such as EADDRINUSE
 */
export async function startRtmp(options: RtmpOptions): Promise<RtmpListener> {
  const { host, port, tls, clock, limits, log } = options
  const connections = new Set<RtmpConnection>()
  /** Those that may give way. */
  const pending = new ByAddress<RtmpConnection>(networkKey)
  const plain = await listen((socket) => accept(socket), { host, port, log })
  // The limits count a connection before its TLS handshake, and the time limit of the publisher includes the handshake.
  const encrypted = tls
    ? await listen((socket) => accept(encrypt(socket, tls.context())), { host, port: tls.port, log }).catch(
        async (error: unknown) => {
          await close(plain)
          throw error
        },
      )
    : null

  function accept(socket: Socket): void {
    const address = addressKeyOf(socket.remoteAddress ?? '')
    if (!makeRoom(connections, pending, address, limits)) {
      socket.destroy()
      return
    }
    const pends = (isPending: boolean) => (isPending ? pending.add(connection, address) : pending.delete(connection))
    const connection = new RtmpConnection({ ...options, socket, pends })
    connections.add(connection)
    pending.add(connection, address)
    void connection.closed.then(() => connections.delete(connection))
  }

  const looks = new LateLooks(TICK_MS, clock.monotonic())
  const ticking = repeat({ clock, log, name: 'look after RTMP connections', everyMs: TICK_MS }, async () => {
    const nowMs = clock.monotonic()
    const missedMs = looks.look(nowMs)
    eachWalled(
      connections,
      (connection) => connection.tick(nowMs, missedMs),
      (error, connection) => connection.failed(error),
    )
  })
  return {
    port: portOf(plain),
    tlsPort: encrypted && portOf(encrypted),
    connections: () => connections.size,
    async stop() {
      const ticked = ticking.stop()
      const closed = [plain, encrypted].map((server) => server && close(server))
      await Promise.all(Array.from(connections, (connection) => connection.end('stopped')))
      await Promise.all([...closed, ticked])
    },
  }
}

async function listen(
  accept: (socket: Socket) => void,
  { host, port, log }: Pick<RtmpOptions, 'host' | 'port' | 'log'>,
): Promise<Server> {
  const server = createServer({ noDelay: true, allowHalfOpen: false }, accept)
  server.listen(port, host)
  await once(server, 'listening')
  // Most likely out of file descriptors: one connection is lost, the others continue.
  server.on('error', (error) => log.warn({ err: error }, 'an RTMP connection could not be accepted'))
  return server
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port

async function close(server: Server): Promise<void> {
  if (!server.listening) return
  const closed = once(server, 'close')
  server.close()
  await closed
}

/** Begins the handshake. The socket below ends with the encrypted one. */
function encrypt(socket: Socket, secureContext: SecureContext): TLSSocket {
  // Errors of the connection are those of the encrypted socket.
  socket.on('error', () => undefined)
  return new TLSSocket(socket, { isServer: true, secureContext })
}

/**
 * Makes room for one of this address: ends the oldest connection that is not admitted, of the address alone if it has all that it may
 * have, and of the network around it if that has. So who opens many keeps out itself. False: there is none to end.
 */
function makeRoom(
  connections: Set<RtmpConnection>,
  pending: ByAddress<RtmpConnection>,
  address: string,
  { maxConnections, maxPendingPerAddress: most }: RtmpLimits,
): boolean {
  const [peers, neighbours] = [pending.of(address), pending.around(address)]
  const isCrowded = most > 0 && peers.size >= most
  const isAroundCrowded = most > 0 && neighbours.size >= halfway(most, maxConnections)
  if (!isCrowded && !isAroundCrowded && connections.size < maxConnections) return true
  const [oldest] = isCrowded ? peers : isAroundCrowded ? neighbours : pending
  if (oldest === undefined) return false
  connections.delete(oldest)
  pending.delete(oldest)
  void oldest.end('invalid')
  return true
}
