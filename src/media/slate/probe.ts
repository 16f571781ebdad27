import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { err, ok, type Result } from '../../base/result.ts'
import type { ProbeSlate, SlateLimits, SlateMedia, SlateProblem } from '../../core/channels/slate.ts'
import { words } from '../ffmpeg/arguments.ts'
import { exitWithin, lastLine } from '../ffmpeg/exits.ts'
import type { Ffmpeg, FfmpegExit } from '../ffmpeg/ffmpeg.ts'
import { slateInput } from './arguments.ts'

export interface ProbeSlateOptions {
  readonly ffmpeg: Ffmpeg
  readonly clock: Clock
  /** Has a folder for each file while it is read. It is made when it is needed. */
  readonly folder: string
}

const FILE = 'slate'
/** A clip that cannot be decoded in this time is not played in time either. */
const DECODE_MAX_MS = 20_000
/** A line for each frame: far more frames than a clip may have. */
const REPORT_MAX = 512 * 1024

/** Checks files by decoding all of them, in a process of its own that can read nothing else. */
export const slateProbe =
  (options: ProbeSlateOptions): ProbeSlate =>
  async (bytes, limits) => {
    await mkdir(options.folder, { recursive: true, mode: 0o700 })
    const cwd = await mkdtemp(join(options.folder, 'slate-'))
    try {
      await writeFile(join(cwd, FILE), bytes, { mode: 0o600 })
      return await decode(options, cwd, limits)
    } finally {
      await rm(cwd, { recursive: true, force: true })
    }
  }

type Found = Omit<SlateMedia, 'mediaType'>

async function decode(
  { ffmpeg, clock }: ProbeSlateOptions,
  cwd: string,
  limits: SlateLimits,
): Promise<Result<Found, SlateProblem>> {
  let report = ''
  const stdout = (chunk: Buffer): void => {
    if (report.length < REPORT_MAX) report += chunk.toString('latin1')
  }
  const run = ffmpeg.run({ name: 'check a slate', args: probeArguments(limits), cwd, background: true, stdout })
  if (!run.ok) return err({ code: 'unavailable', message: run.error.message })
  const exit = await exitWithin(run.value, clock, DECODE_MAX_MS)
  if (exit.isLate) return err({ code: 'broken', message: `it takes more than ${DECODE_MAX_MS / 1000} s to decode` })
  return exit.code === 0 ? foundIn(report, limits) : err(problemOf(exit))
}

/** Writes the size, and a line for each frame, also of the audio. A second more than is allowed shows that a clip is too long. */
const probeArguments = (limits: SlateLimits): string[] => [
  ...words(`-xerror -err_detect explode -max_pixels ${limits.maxSide ** 2}`),
  ...slateInput(limits.mediaType, FILE),
  ...words(`-map 0:v:0 -map 0:a:0? -t ${limits.maxSeconds + 1} -fps_mode passthrough -f framecrc pipe:1`),
]

function problemOf({ tail }: FfmpegExit): SlateProblem {
  if (/Picture size \S+ (?:exceeds|is invalid)/.test(tail)) return { code: 'too_large' }
  const reason = lastLine(tail).replace(/^\[[^\]]*\] /, '')
  return { code: 'broken', message: `ffmpeg cannot decode it${reason === '' ? '' : ` (${reason})`}` }
}

/** `#tb 0: 1/25`, `#dimensions 0: 640x360`, and a line for each frame: `0, dts, pts, duration, size, checksum`. */
function foundIn(report: string, { mediaType }: SlateLimits): Result<Found, SlateProblem> {
  const [, width, height] = /^#dimensions 0: (\d+)x(\d+)$/m.exec(report) ?? []
  const [, numerator, denominator] = /^#tb 0: (\d+)\/(\d+)$/m.exec(report) ?? []
  const frames = [...report.matchAll(/^0, *-?\d+, *(-?\d+), *(\d+),/gm)].map(([, pts, length]) => [
    Number(pts),
    Number(length),
  ])
  const first = frames[0]?.[0]
  if (first === undefined || width === undefined || height === undefined)
    return err({ code: 'broken', message: 'it has no video' })
  const end = Math.max(...frames.map(([pts = 0, length = 0]) => pts + length))
  const durationMs = ((end - first) * 1000 * Number(numerator)) / Number(denominator)
  const isClip = mediaType === 'video/mp4'
  const size = { width: Number(width), height: Number(height) }
  if (!isClip) return ok({ ...size, durationMs: null, hasAudio: false })
  return ok({ ...size, durationMs: Math.round(durationMs), hasAudio: /^#media_type 1: audio$/m.test(report) })
}
