import { type Clock, systemClock } from '../../../src/base/clock.ts'
import type { Logger } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import type { Frame, FrameSink, TrackInfo } from '../../../src/media/frame.ts'
import { type RtmpListener, startRtmp } from '../../../src/media/rtmp/listener.ts'
import type { PublishAnswer, PublishEnd } from '../../../src/media/publishing.ts'
import type { PublishRequest, RtmpLimits } from '../../../src/media/rtmp/types.ts'
import { silentLog } from '../../support/log.ts'

export const LIMITS: RtmpLimits = {
  maxMessageBytes: 8 * 1024 * 1024,
  maxConnections: 1000,
  handshakeMs: 10_000,
  idleMs: 10_000,
}

/** One publication, as the server saw it. */
export class Publication implements FrameSink {
  readonly request: PublishRequest
  readonly trackLists: (readonly TrackInfo[])[] = []
  readonly frames: Frame[] = []
  ends = 0
  bytesIn = 0
  reason: PublishEnd | null = null

  constructor(request: PublishRequest) {
    this.request = request
  }

  tracks(tracks: readonly TrackInfo[]): void {
    this.trackLists.push(tracks)
  }

  frame(frame: Frame): void {
    this.frames.push(frame)
  }

  end(): void {
    this.ends++
  }

  answer(): PublishAnswer {
    return {
      ok: true,
      sink: this,
      bytes: (bytesIn) => {
        this.bytesIn = bytesIn
      },
      ended: (reason) => {
        this.reason = reason
      },
    }
  }
}

export interface Place extends RtmpListener {
  readonly publications: Publication[]
}

/** A listener that admits every publisher that `refuse` does not refuse. */
export async function listenFor(
  limits: Partial<RtmpLimits> = {},
  refuse: (request: PublishRequest) => string | null = () => null,
  log: Logger = silentLog,
  clock: Clock = systemClock,
): Promise<Place> {
  const publications: Publication[] = []
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
