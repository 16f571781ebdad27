import type { Clock } from '../../base/clock.ts'
import { processorTimeOf } from '../../base/processors.ts'
import type { LoadControl, LoadVerdict } from '../../core/channels/runs/load.ts'
import type { FfmpegProcess } from '../ffmpeg/ffmpeg.ts'

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
  readonly process: FfmpegProcess
  /** Null: the process reads its source itself. */
  readonly fed: (() => Fed) | null
  readonly load: LoadControl
  readonly found: (verdict: LoadVerdict) => void
}

const LOOK_EVERY_MS = 1000

/** Checks a process once a second until it ends or needs a restart. Resolves when it is gone; never rejects. */
export async function watchEncoder({ clock, process, fed, load, found }: EncoderWatchOptions): Promise<void> {
  const over = new AbortController()
  const ended = process.exited.then(() => over.abort())
  let restarts = false
  load.begun()
  while (!over.signal.aborted && !restarts) {
    await clock.sleep(LOOK_EVERY_MS, over.signal).catch(() => undefined)
    const cpuMs = process.pid === null ? null : await processorTimeOf(process.pid)
    if (over.signal.aborted) break
    const { inMs, droppedFrames, droppedMs } = fed?.() ?? { inMs: null, droppedFrames: 0, droppedMs: 0 }
    const outMs = process.progress.outTimeMs ?? 0
    const verdict = load.look({ atMs: clock.monotonic(), inMs, outMs, droppedFrames, droppedMs, cpuMs })
    restarts = verdict.restart
    found(verdict)
  }
  await ended
  load.over()
}
