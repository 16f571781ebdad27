import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Ffmpeg } from './ffmpeg.ts'
import { Hls } from './hls.ts'

export interface PackagerOptions {
  readonly ffmpeg: Ffmpeg
  readonly clock: Clock
  readonly log: Logger
  readonly maxStreams: number
  readonly idleMs: number
  readonly segmentSeconds: number
  readonly listSegments: number
}

/** What is made of feeds beside forwarding them. */
export interface Packager {
  readonly hls: Hls
  /** Ends everything that it has started. Idempotent. */
  stop(): Promise<void>
}

const SWEEP_MS = 1000
/** A stream of 20 Mbit/s for 25 seconds; beyond it fewer segments are kept. */
const MAX_BYTES_PER_STREAM = 64 * 1024 * 1024
const STOP_GRACE_MS = 3000

export function createPackager(options: PackagerOptions): Packager {
  const { segmentSeconds, listSegments, ffmpeg } = options
  const segments = { targetSeconds: segmentSeconds, listed: listSegments, maxBytes: MAX_BYTES_PER_STREAM }
  const hls = new Hls({ ...options, segments })
  const stopping = new AbortController()
  void sweep(hls, options, stopping.signal)
  return {
    hls,
    async stop() {
      stopping.abort()
      await hls.stop()
      await ffmpeg.stop(STOP_GRACE_MS)
    },
  }
}

async function sweep(hls: Hls, { clock }: PackagerOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await hls.sweep()
    await clock.sleep(SWEEP_MS, signal).catch(() => undefined)
  }
}
