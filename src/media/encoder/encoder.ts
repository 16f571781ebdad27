import type { Clock } from '../../base/clock.ts'
import { ok, type Result } from '../../base/result.ts'
import type { Ffmpeg, FfmpegJob, FfmpegProcess, FfmpegRefusal } from '../ffmpeg/ffmpeg.ts'
import { ladderArguments, type LadderInput, makesAudio, OFFSET_US } from './arguments.ts'
import { EncodedLadder, type LadderSink } from './encodedLadder.ts'
import { FragmentReader } from './fragmentReader.ts'

export interface EncoderOptions {
  readonly ffmpeg: Ffmpeg
  readonly clock: Clock
  readonly job: Pick<FfmpegJob, 'name' | 'cwd' | 'stdin' | 'script' | 'endsOn'>
  readonly ladder: LadderInput
  /** Takes what the process makes, until it is gone. */
  readonly out: LadderSink
  /** A frame of video came, with its time in the source, microseconds. */
  readonly encoded: (timeUs: number) => void
  /** The process is gone, and its output was read. Called before `exited` resolves for others. */
  readonly ended: () => void
}

export interface Encoder {
  readonly process: FfmpegProcess
  /** Media that all rungs have, milliseconds. */
  readonly encodedMs: number
}

/** Encodes a ladder in one process, which writes frames and no files, except for a thumbnail. */
export function startEncoder(options: EncoderOptions): Result<Encoder, FfmpegRefusal> {
  const { ffmpeg, clock, job, ladder, out, ended } = options
  const joined = new EncodedLadder({ clock, hasAudio: makesAudio(ladder), out })
  let process: FfmpegProcess | null = null
  const outputs = sinksOf(joined, options).map((sink) => outputOf(sink, () => void process?.stop(0)))
  const run = ffmpeg.run({ ...job, args: ladderArguments(ladder), outputs })
  if (!run.ok) return run
  process = run.value
  void process.exited.then(() => {
    joined.end()
    ended()
  })
  return ok({
    process,
    get encodedMs() {
      return joined.encodedMs
    },
  })
}

type OutputSink = Pick<ConstructorParameters<typeof FragmentReader>[0], 'track' | 'frame'>

/** In the order of the pipes: the rungs, then audio. */
function sinksOf(joined: EncodedLadder, { ladder, encoded }: EncoderOptions): OutputSink[] {
  const video = ladder.rungs.map((_, rung): OutputSink => {
    return {
      track: (track) => joined.videoTrack(rung, track),
      frame: (frame) => {
        if (rung === 0) encoded(frame.timeUs)
        joined.video(rung, frame)
      },
    }
  })
  const audio: OutputSink = { track: (track) => joined.audioTrack(track), frame: (frame) => joined.audio(frame) }
  return makesAudio(ladder) ? [...video, audio] : video
}

/** Reads one pipe. What cannot be read stops the process. */
function outputOf(sink: OutputSink, broken: () => void): (chunk: Buffer) => void {
  const reader = new FragmentReader({ ...sink, offsetUs: OFFSET_US })
  let isBroken = false
  return (chunk) => {
    if (isBroken || reader.push(chunk).ok) return
    isBroken = true
    broken()
  }
}
