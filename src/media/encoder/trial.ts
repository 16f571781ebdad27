import type { Clock } from '../../base/clock.ts'
import { fitInto, KEYFRAMES, words } from '../ffmpeg/arguments.ts'
import { exitReason, exitWithin } from '../ffmpeg/exits.ts'
import type { Ffmpeg } from '../ffmpeg/ffmpeg.ts'
import type { VideoEncoder } from '../ffmpeg/videoEncoders.ts'
import type { Frame, TrackInfo } from '../frame.ts'
import { OFFSET_US, rates, uploadTo, videoOutput } from './arguments.ts'
import { FragmentReader } from './fragmentReader.ts'

/** As many frames as a channel of 25 frames a second has in three seconds, with keyframes at 0 and 2 seconds. */
const FRAMES = 75
const KEYS = [0, 50]
const SIZE = { width: 640, height: 360 }
/** Hardware needs well below a second, and a driver may need some to begin. */
const TRIAL_MS = 8000

/**
 * Encodes a few frames as for a channel, and checks what comes out. Returns what is wrong, for the operator, or null. Takes
 * at most eight seconds.
 */
export async function tryEncoder(ffmpeg: Ffmpeg, clock: Clock, encoder: VideoEncoder): Promise<string | null> {
  const made = new Output()
  const started = ffmpeg.run({
    name: `trial of ${encoder.name}`,
    args: trialArguments(encoder),
    outputs: [(chunk) => made.read(chunk)],
  })
  if (!started.ok) return started.error.message
  const exit = await exitWithin(started.value, clock, TRIAL_MS)
  if (exit.isLate) return `ffmpeg did not finish within ${TRIAL_MS / 1000} seconds`
  if (exit.code !== 0) return `${exitReason(exit)}${firstProblem(exit.tail)}`
  return made.problem
}

/** The first line often names the cause, and the last one only that ffmpeg ended. */
function firstProblem(tail: string): string {
  const [first = '', ...others] = tail.trim().split('\n')
  return others.length === 0 ? '' : `; before that: ${first.slice(0, 300)}`
}

const trialArguments = (encoder: VideoEncoder): string[] => [
  ...encoder.device,
  ...words(`-f lavfi -i testsrc2=size=${SIZE.width}x${SIZE.height}:rate=25 -filter_complex`),
  `[0:v:0]${fitInto(SIZE.width, SIZE.height)}${uploadTo(encoder)}[v0]`,
  ...videoOutput(encoder, 0, [...KEYFRAMES, ...rates({ bitrate: 1_000_000 }), '-frames:v', String(FRAMES)]),
]

class Output {
  readonly #frames: Frame[] = []
  #track: TrackInfo | null = null
  #broken: string | null = null
  readonly #reader = new FragmentReader({
    offsetUs: OFFSET_US,
    track: (track) => (this.#track = track),
    frame: (frame) => void this.#frames.push(frame),
  })

  read(chunk: Buffer): void {
    if (this.#broken !== null) return
    const read = this.#reader.push(chunk)
    if (!read.ok) this.#broken = `its output has ${read.error}`
  }

  /** What is wrong with it. */
  get problem(): string | null {
    if (this.#broken !== null) return this.#broken
    const track = this.#track
    if (track?.kind !== 'video' || track.config.length === 0) return 'its output has no H.264'
    const size = `${track.width}x${track.height}`
    if (size !== `${SIZE.width}x${SIZE.height}`) return `its output has the size ${size}`
    if (this.#frames.length !== FRAMES) return `it made ${this.#frames.length} of ${FRAMES} frames`
    const keys = this.#frames.flatMap(({ key }, at) => (key ? [at] : []))
    if (keys.join() !== KEYS.join())
      return `it made keyframes at the frames ${keys.join(', ')}, not at ${KEYS.join(', ')}`
    const isInOrder = this.#frames.every(({ timeUs }, at) => at === 0 || timeUs > (this.#frames[at - 1]?.timeUs ?? 0))
    return isInOrder ? null : 'it made B-frames'
  }
}
