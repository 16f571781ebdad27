import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { type Clock, systemClock } from '../../../src/base/clock.ts'
import type { Logger } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { type RtmpListener, startRtmp } from '../../../src/media/rtmp/listener.ts'
import type { PublishRequest, RtmpLimits } from '../../../src/media/rtmp/types.ts'
import { strictLog } from '../../support/log.ts'
import { Publication } from '../../support/publication.ts'

export const LIMITS: RtmpLimits = {
  maxMessageBytes: 8 * 1024 * 1024,
  maxConnections: 1000,
  maxPendingPerAddress: 0,
  handshakeMs: 10_000,
  idleMs: 10_000,
}

export type RtmpPublication = Publication<PublishRequest>

export interface Place extends RtmpListener {
  readonly publications: RtmpPublication[]
}

/** A listener that admits every publisher that `refuse` does not refuse. */
export async function listenFor(
  limits: Partial<RtmpLimits> = {},
  refuse: (request: PublishRequest) => string | null = () => null,
  log: Logger = strictLog,
  clock: Clock = systemClock,
): Promise<Place> {
  const publications: RtmpPublication[] = []
  const listener = await startRtmp({
    host: '127.0.0.1',
    port: 0,
    log,
    clock,
    random: systemRandom,
    limits: { ...LIMITS, ...limits },
    publish: (request) => {
      const status = refuse(request)
      if (status !== null) return Promise.resolve({ ok: false, status, reason: 'forbidden' })
      const publication = new Publication(request)
      publications.push(publication)
      return Promise.resolve(publication.answer())
    },
  })
  return { ...listener, publications }
}

/** A server of which the test decides what it says. Returns its port; `closing` gets its end. */
export async function listenOnly(serve: (socket: Socket) => void, closing: (() => unknown)[]): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    serve(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}
