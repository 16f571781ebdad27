import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { err, ok, type Result } from '../../base/result.ts'
import type { Rung } from '../../core/channels/runs/rungs.ts'
import type { SlateMedia } from '../../core/channels/slate.ts'
import { OFFSET_US } from '../encoder/arguments.ts'
import { FragmentReader } from '../encoder/fragmentReader.ts'
import { exitReason, exitUnlessStalled } from '../ffmpeg/exits.ts'
import type { Ffmpeg } from '../ffmpeg/ffmpeg.ts'
import type { TrackInfo } from '../frame.ts'
import { AAC_SAMPLES, AUDIO_RATE, audioFrames, slateArguments, slateSeconds } from './arguments.ts'
import type { LoopFrame, SlateLoop } from './loop.ts'

export interface EncodeSlateOptions {
  readonly ffmpeg: Ffmpeg
  readonly clock: Clock
  readonly log: Logger
  /** For the log. */
  readonly name: string
  /** An existing folder for the file, while it is read. */
  readonly folder: string
  readonly media: SlateMedia
  readonly bytes: Uint8Array
  readonly rungs: readonly Rung[]
  readonly audioKbps: number | null
  /** Ends the work. */
  readonly signal: AbortSignal
}

const FILE = 'slate'
/** The first frames know of nothing before them. After these, a frame is what it would be in an endless loop. */
const LEAD_FRAMES = 8
/** A process without progress for this long hangs: live streams come first, and may leave it little of the processor. */
const STALL_MS = 60_000
/** 20 seconds of six large renditions at their highest rate, with audio; more is refused. */
const MAX_BYTES = 96 * 1024 * 1024

/** Encodes a slate for the rungs of a ladder. The error is a sentence for the operator. */
export async function encodeSlate(options: EncodeSlateOptions): Promise<Result<SlateLoop, string>> {
  const { ffmpeg, clock, log, name, folder, media, bytes, rungs, audioKbps, signal } = options
  const path = join(folder, FILE)
  const outputs = [...rungs.map(() => new Collected()), ...(audioKbps === null ? [] : [new Collected()])]
  try {
    await writeFile(path, bytes, { mode: 0o600 })
    if (signal.aborted) return err('it was stopped')
    const args = slateArguments({ media, file: FILE, rungs, audioKbps })
    const run = ffmpeg.run({ name, args, cwd: folder, background: true, outputs: outputs.map((one) => one.take) })
    if (!run.ok) return err(run.error.message)
    const stop = (): void => void run.value.stop(0)
    signal.addEventListener('abort', stop, { once: true })
    const exit = await exitUnlessStalled(run.value, { clock, log, name, everyMs: STALL_MS })
    signal.removeEventListener('abort', stop)
    if (exit.code !== 0) return err(exitReason(exit))
    return loopOf(outputs.slice(0, rungs.length), outputs[rungs.length] ?? null, media)
  } finally {
    await rm(path, { force: true })
  }
}

function loopOf(
  video: readonly Collected[],
  collected: Collected | null,
  media: SlateMedia,
): Result<SlateLoop, string> {
  const rungs = video.flatMap(({ track, frames }) => (track && frames[0]?.key ? [{ track, frames }] : []))
  const audio = collected && audioLoopOf(collected, audioFrames(media))
  if (rungs.length < video.length || (collected && !audio)) return err('ffmpeg made no complete slate')
  const bytes = [...rungs, ...(audio ? [audio] : [])]
    .flatMap(({ frames }) => frames)
    .reduce((sum, { data }) => sum + data.length, 0)
  if (bytes > MAX_BYTES) return err(`the slate takes ${bytes} bytes in these renditions, more than ${MAX_BYTES}`)
  return ok({ rungs, audio, lengthUs: slateSeconds(media) * 1_000_000 })
}

const FRAME_US = (AAC_SAMPLES * 1_000_000) / AUDIO_RATE

/** The frames of one turn. The first ones come from the beginning of the next turn. Null: some are missing. */
function audioLoopOf({ track, frames }: Collected, count: number): SlateLoop['audio'] {
  const byNumber = new Map(frames.map((frame) => [Math.round(frame.atUs / FRAME_US), frame]))
  const turn = Array.from({ length: count }, (_, n) =>
    byNumber.get(n < LEAD_FRAMES ? n + count * Math.ceil((LEAD_FRAMES - n) / count) : n),
  ).filter((frame) => frame !== undefined)
  return track && turn.length === count ? { track, frames: turn } : null
}

/** What came from one pipe. */
class Collected {
  track: TrackInfo | null = null
  readonly frames: LoopFrame[] = []
  readonly #reader = new FragmentReader({
    offsetUs: OFFSET_US,
    track: (track) => (this.track = track),
    // A copy: the data are a view of whatever the pipe delivered at a time.
    frame: ({ decodeTimeUs: atUs, key, data }) => this.frames.push({ atUs, key, data: Uint8Array.from(data) }),
  })
  #isBroken = false

  readonly take = (chunk: Buffer): void => {
    this.#isBroken ||= !this.#reader.push(chunk).ok
    if (this.#isBroken) this.track = null
  }
}
