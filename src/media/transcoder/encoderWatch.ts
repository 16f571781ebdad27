import type { Clock } from '../../base/clock.ts'
import { LateLooks } from '../../base/lateLooks.ts'
import type { Logger } from '../../base/log.ts'
import { processorTimeOf } from '../../base/processors.ts'
import { repeat } from '../../base/repeat.ts'
import type { LoadControl, LoadVerdict } from '../../core/channels/runs/load.ts'
import type { Encoder } from '../encoder/encoder.ts'

/** What a process received, and what it could not take. */
export interface Fed {
  /** Media from the first frame to the latest, milliseconds. */
  readonly inMs: number
  readonly droppedFrames: number
  /** The media time of those, milliseconds. */
  readonly droppedMs: number
}

export interface EncoderWatchOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly encoder: Encoder
  /** Null: the process reads its source itself. */
  readonly fed: (() => Fed) | null
  readonly load: LoadControl
  readonly found: (verdict: LoadVerdict) => void
}

const LOOK_EVERY_MS = 1000

/** Checks a process once a second until it ends or needs a restart. Resolves when it is gone; never rejects. */
export async function watchEncoder({ clock, log, encoder, fed, load, found }: EncoderWatchOptions): Promise<void> {
  const { process } = encoder
  load.begun()
  const looks = new LateLooks(LOOK_EVERY_MS, clock.monotonic())
  let missedMs = 0
  const looking = repeat(
    { clock, log, name: 'watch an encoder', everyMs: LOOK_EVERY_MS, pausesFirst: true },
    async (signal) => {
      missedMs += looks.look(clock.monotonic())
      const cpuMs = process.pid === null ? null : await processorTimeOf(process.pid)
      if (signal.aborted) return 'done'
      const { inMs, droppedFrames, droppedMs } = fed?.() ?? { inMs: null, droppedFrames: 0, droppedMs: 0 }
      const { encodedMs: outMs } = encoder
      const verdict = load.look({ atMs: clock.monotonic() - missedMs, inMs, outMs, droppedFrames, droppedMs, cpuMs })
      found(verdict)
      return verdict.restart ? 'done' : undefined
    },
  )
  await process.exited
  await looking.stop()
  load.over()
}
