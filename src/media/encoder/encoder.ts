import type { Clock } from '../../base/clock.ts'
import { ok, type Result } from '../../base/result.ts'
import type { Ffmpeg, FfmpegJob, FfmpegProcess, FfmpegRefusal } from '../ffmpeg/ffmpeg.ts'
import type { Frame, TrackInfo } from '../frame.ts'
import { encodedAudioTracks, encodedRungs, ladderArguments, type LadderInput, OFFSET_US } from './arguments.ts'
import { EncodedAudio } from './encodedAudio.ts'
import { EncodedLadder, type LadderSink } from './encodedLadder.ts'
import { FragmentReader } from './fragmentReader.ts'
import { ThumbnailReader } from './thumbnailReader.ts'

export interface EncoderOptions {
  readonly ffmpeg: Ffmpeg
  readonly clock: Clock
  readonly job: Pick<FfmpegJob, 'name' | 'cwd' | 'stdin' | 'backlogBytes'>
  readonly ladder: LadderInput
  /** The arguments of the process, where they are not those of a channel's ladder. */
  readonly args?: readonly string[]
  /** Takes what the process makes, until it is gone. */
  readonly out: LadderSink
  /** Takes each thumbnail of a channel's ladder, a JPEG. */
  readonly thumbnail?: (jpeg: Uint8Array) => void
  /** The process is gone, and its output was read. Called before `exited` resolves for others. */
  readonly ended: () => void
}

/** Takes the video of a source, in the order of decoding, from the frame on with which the process begins. */
export interface CopySink {
  track(track: TrackInfo): void
  frame(frame: Frame): void
}

export interface Encoder {
  /** Takes the source, for the rung that is copied. Null: none is. */
  readonly copied: CopySink | null
  readonly process: FfmpegProcess
  /** Media that all rungs have, milliseconds. */
  readonly encodedMs: number
}

/** Encodes a ladder in one process, which writes to pipes and no files. */
export function startEncoder(options: EncoderOptions): Result<Encoder, FfmpegRefusal> {
  const { ffmpeg, job, ladder, args = ladderArguments(ladder, ffmpeg.videoEncoder), ended } = options
  const joined = joinedOf(options)
  let process: FfmpegProcess | null = null
  const outputs = joined.outputs.map((sink) => outputOf(sink, () => void process?.stop(0)))
  if (ladder.hasVideo && options.args === undefined) outputs.push(thumbnailOutput(options))
  const run = ffmpeg.run({ ...job, args, outputs })
  if (!run.ok) return run
  process = run.value
  void process.exited.then(() => {
    joined.media.end()
    ended()
  })
  return ok({
    process,
    copied: joined.copied,
    get encodedMs() {
      return joined.media.encodedMs
    },
  })
}

type OutputSink = Pick<ConstructorParameters<typeof FragmentReader>[0], 'track' | 'frame'>

interface Joined {
  readonly media: { readonly encodedMs: number; end(): void }
  /** In the order of the pipes: the rungs, then the audio tracks. */
  readonly outputs: readonly OutputSink[]
  readonly copied: CopySink | null
}

const joinedOf = (options: EncoderOptions): Joined =>
  options.ladder.hasVideo ? joinedLadder(options) : joinedAudio(options)

function joinedLadder({ clock, ladder, out }: EncoderOptions): Joined {
  const at = ladder.rungs.findIndex(({ copy }) => copy)
  const [main, ...further] = encodedAudioTracks(ladder)
  const media = new EncodedLadder({ clock, hasAudio: main !== undefined, further, copied: at < 0 ? null : at, out })
  const sinkOf = (rung: number): OutputSink => ({
    track: (track) => media.videoTrack(rung, track),
    frame: (frame) => media.video(rung, frame),
  })
  const video = encodedRungs(ladder).map((rung) => sinkOf(ladder.rungs.indexOf(rung)))
  const audio: OutputSink = { track: (track) => media.audioTrack(track), frame: (frame) => media.audio(frame) }
  // All of them have the format of the first.
  const beside = further.map(
    (audioIndex): OutputSink => ({
      track: () => undefined,
      frame: (frame) => media.audio({ ...frame, audioIndex }),
    }),
  )
  const copied = at < 0 ? null : sinkOf(at)
  return { media, copied, outputs: main === undefined ? video : [...video, audio, ...beside] }
}

function joinedAudio({ out }: EncoderOptions): Joined {
  const media = new EncodedAudio(out)
  const audio: OutputSink = { track: (track) => media.track(track), frame: (frame) => media.frame(frame) }
  return { media, copied: null, outputs: [audio] }
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

function thumbnailOutput({ thumbnail = () => undefined }: EncoderOptions): (chunk: Buffer) => void {
  const reader = new ThumbnailReader(thumbnail)
  return (chunk) => reader.push(chunk)
}
