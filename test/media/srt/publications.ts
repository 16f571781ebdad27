import { type Clock, systemClock } from '../../../src/base/clock.ts'
import { systemRandom } from '../../../src/base/random.ts'
import type { Logger } from '../../../src/base/log.ts'
import { type SrtListener, startSrt } from '../../../src/media/srt/listener.ts'
import type { SrtAnswer, SrtLimits, SrtRequest } from '../../../src/media/srt/types.ts'
import { strictLog } from '../../support/log.ts'
import { Publication } from '../../support/publication.ts'

const LIMITS: SrtLimits = {
  latencyMs: 120,
  maxLatencyMs: 8000,
  maxConnections: 100,
  maxConnectingPerAddress: 0,
  maxFrameBytes: 8 * 1024 * 1024,
  idleMs: 10_000,
}

export interface Listening extends SrtListener {
  readonly publications: Publication<SrtRequest>[]
}

interface Terms {
  readonly limits?: Partial<SrtLimits>
  /** Opens the keys of callers who have some. */
  readonly passphrase?: string
  /** It admits callers whose keys it has not opened. */
  readonly opensNothing?: boolean
  readonly refuse?: (request: SrtRequest) => SrtAnswer | null
  /** What the decision waits for. */
  readonly until?: Promise<void>
  readonly log?: Logger
  readonly clock?: Clock
}

/** A listener that admits every publisher that `refuse` does not refuse. */
export async function listenForSrt(terms: Terms = {}): Promise<Listening> {
  const { limits, passphrase = '', opensNothing = false, refuse, until, log = strictLog, clock = systemClock } = terms
  const publications: Publication<SrtRequest>[] = []
  const listener = await startSrt({
    host: '127.0.0.1',
    port: 0,
    log,
    clock,
    random: systemRandom,
    limits: { ...LIMITS, ...limits },
    publish: async (request) => {
      await until
      const refusal = refuse?.(request) ?? null
      if (refusal !== null) return refusal
      if (request.unlock && !opensNothing && !(await request.unlock(passphrase))) {
        return { ok: false, status: 'The passphrase is wrong', reason: 'passphrase' }
      }
      const publication = new Publication(request)
      publications.push(publication)
      return publication.answer()
    },
  })
  return { ...listener, publications }
}
