import { type Clock, systemClock } from '../../../src/base/clock.ts'
import type { Logger } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { type RtmpListener, startRtmp } from '../../../src/media/rtmp/listener.ts'
import type { PublishRequest, RtmpLimits } from '../../../src/media/rtmp/types.ts'
import { silentLog } from '../../support/log.ts'
import { Publication } from '../../support/publication.ts'

export const LIMITS: RtmpLimits = {
  maxMessageBytes: 8 * 1024 * 1024,
  maxConnections: 1000,
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
  log: Logger = silentLog,
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
