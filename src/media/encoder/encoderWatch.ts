import type { Clock } from '../../base/clock.ts'
import { LateLooks } from '../../base/lateLooks.ts'
import type { Logger } from '../../base/log.ts'
import { isReadyToRun, processorTimeOf } from '../../base/processors.ts'
import { repeat } from '../../base/repeat.ts'
import type { LoadControl, LoadVerdict } from '../../core/channels/runs/load.ts'
import type { MuxFeed } from '../ffmpeg/muxFeed.ts'
import type { Encoder } from './encoder.ts'

/** What a process received, and what it could not take. */
export interface Fed {
  /** Media from the first frame to the latest that it can have finished, milliseconds. */
  readonly dueMs: number
  /** The time of the latest frame of video, or of audio without video, milliseconds. */
  readonly leadMs: number
  readonly droppedFrames: number
  /** The media time of those, milliseconds. */
  readonly droppedMs: number
}

export const fedBy = ({ dueUs, leadUs, dropped: droppedFrames, droppedUs }: MuxFeed): Fed => ({
  dueMs: dueUs / 1000,
  leadMs: leadUs / 1000,
  droppedFrames,
  droppedMs: droppedUs / 1000,
})

export interface EncoderWatchOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly encoder: Encoder
  readonly fed: () => Fed
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
  let usedMs: number | null = null
  const looking = repeat(
    { clock, log, name: 'watch an encoder', everyMs: LOOK_EVERY_MS, pausesFirst: true },
    async (signal) => {
      missedMs += looks.look(clock.monotonic())
      const { pid } = process
      const cpuMs = pid === null ? null : await processorTimeOf(pid)
      const isReady = pid !== null && cpuMs === usedMs && (await isReadyToRun(pid))
      usedMs = cpuMs
      if (signal.aborted) return 'done'
      const used = { cpuMs, isReadyToRun: isReady }
      const verdict = load.look({ ...fed(), ...used, atMs: clock.monotonic() - missedMs, outMs: encoder.encodedMs })
      if (verdict.isHung) void process.stop(0)
      found(verdict)
      return verdict.restart || verdict.isHung ? 'done' : undefined
    },
  )
  await process.exited
  await looking.stop()
  load.over()
}
