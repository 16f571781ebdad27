import type { Clock } from '../../base/clock.ts'
import { samplesIn } from '../codecs/audioFrames.ts'
import { silentFrame } from '../codecs/silence.ts'
import type { AudioTrack, Frame, FrameSink, TrackInfo } from '../frame.ts'
import { TrackGap } from './trackGap.ts'

/** Audio that is missing for longer is filled while it is missing. A shorter hole is filled when it is over. */
const GAP_US = 1_000_000
const HOLE_MAX_US = 2 * GAP_US
/** In a longer pause of the video there is nothing to fill: the stream goes on after a discontinuity. */
const VIDEO_STEP_MAX_US = 1_500_000

/** The audio of a source with video, and a frame of it without any sound. */
interface Filled {
  readonly track: AudioTrack
  readonly silence: Uint8Array
}

/**
 * Puts silence where a source with video sends no audio, also before it sends any: players stop where one of the tracks of a stream
 * ends, and ffmpeg begins when each track has. Audio that comes too late for that is left out.
 */
export class AudioGap implements FrameSink {
  readonly #out: FrameSink
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #gap = new TrackGap(VIDEO_STEP_MAX_US)
  /** Null: there is nothing to fill. */
  #filled: Filled | null = null
  /** The time at which audio is due; null: before the first frame. */
  #dueUs: number | null = null

  constructor(out: FrameSink, clock: Pick<Clock, 'monotonic'>) {
    this.#out = out
    this.#clock = clock
  }

  tracks(tracks: readonly TrackInfo[]): void {
    this.#filled = filledOf(tracks)
    this.#dueUs = null
    this.#gap.reset()
    this.#out.tracks(tracks)
  }

  frame(frame: Frame): void {
    if (this.#filled === null) this.#out.frame(frame)
    else if (frame.kind === 'video') this.#video(frame, this.#filled)
    else this.#audio(frame, this.#filled)
  }

  end(): void {
    this.#out.end()
  }

  #video(frame: Frame, filled: Filled): void {
    this.#out.frame(frame)
    const dueUs = (this.#dueUs ??= frame.decodeTimeUs)
    this.#gap.clock(frame.decodeTimeUs)
    if (!this.#gap.isOpen) {
      if (this.#gap.lengthUs <= GAP_US || !this.#gap.isConfirmed(this.#clock.monotonic())) return
      this.#gap.open(dueUs)
    }
    this.#fill(filled, dueUs, this.#gap.fillUntilUs)
  }

  #audio(frame: Frame, filled: Filled): void {
    this.#gap.came()
    const frameUs = lengthUs(filled.track, frame.data)
    const dueUs = this.#dueUs ?? frame.timeUs
    const isLate = frame.timeUs < dueUs - frameUs / 2
    // More silence follows what was filled if no other frame comes.
    if (this.#gap.isOpen && isLate) return this.#gap.open(dueUs)
    if (this.#gap.isOpen || frame.timeUs - dueUs <= HOLE_MAX_US) this.#fill(filled, dueUs, frame.timeUs)
    this.#gap.close()
    this.#dueUs = frame.timeUs + frameUs
    this.#out.frame(frame)
  }

  /** In whole frames. */
  #fill({ track, silence }: Filled, fromUs: number, untilUs: number): void {
    const frameUs = lengthUs(track, silence)
    let dueUs = fromUs
    for (; dueUs + frameUs <= untilUs; dueUs += frameUs) {
      const timeUs = Math.round(dueUs)
      this.#out.frame({ kind: 'audio', timeUs, decodeTimeUs: timeUs, key: true, data: silence })
    }
    this.#dueUs = dueUs
  }
}

function filledOf(tracks: readonly TrackInfo[]): Filled | null {
  const track = tracks.find((one) => one.kind === 'audio')
  const silence = track && tracks.some(({ kind }) => kind === 'video') ? silentFrame(track) : null
  return track && silence ? { track, silence } : null
}

const lengthUs = (track: AudioTrack, data: Uint8Array): number =>
  (samplesIn(track, data) * 1_000_000) / track.sampleRate
