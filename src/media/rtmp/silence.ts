import type { Clock } from '../../base/clock.ts'
import { FillBudget } from '../fillBudget.ts'
import type { AudioTrack, Frame, FrameSink, TrackInfo } from '../frame.ts'

/** AAC-LC, 44.1 kHz, stereo. */
const TRACK: AudioTrack = {
  kind: 'audio',
  codec: 'aac',
  sampleRate: 44_100,
  channels: 2,
  config: Uint8Array.of(0x12, 0x10),
}
/** One frame of it in which both channels are empty. */
const SILENT = Uint8Array.of(0x21, 0x10, 0x04, 0x60, 0x8c, 0x1c)
const FRAME_US = (1024 / 44_100) * 1_000_000
/** In a longer gap of the video there is no audio either. */
const GAP_US = 1_000_000

/** Adds silence to video without audio, as much as there was time for: many services take no stream without. */
export class WithSilence implements FrameSink {
  readonly #out: FrameSink
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #budget = new FillBudget()
  #isSilent = false
  /** The time of the next silent frame; null: before the first picture. */
  #nextUs: number | null = null

  constructor(out: FrameSink, clock: Pick<Clock, 'monotonic'>) {
    this.#out = out
    this.#clock = clock
  }

  tracks(tracks: readonly TrackInfo[]): void {
    this.#isSilent = tracks.length > 0 && tracks.every(({ kind }) => kind === 'video')
    this.#nextUs = null
    this.#out.tracks(this.#isSilent ? [...tracks, TRACK] : tracks)
  }

  frame(frame: Frame): void {
    this.#out.frame(frame)
    if (this.#isSilent) this.#fill(frame.decodeTimeUs)
  }

  end(): void {
    this.#out.end()
  }

  #fill(untilUs: number): void {
    const dueUs = this.#nextUs ?? untilUs
    const fromUs = Math.abs(untilUs - dueUs) > GAP_US ? untilUs : dueUs
    const endUs = Math.min(untilUs, fromUs + this.#budget.leftUs(this.#clock.monotonic()))
    let nextUs = fromUs
    for (; nextUs <= endUs; nextUs += FRAME_US) {
      const timeUs = Math.round(nextUs)
      this.#out.frame({ kind: 'audio', timeUs, decodeTimeUs: timeUs, key: true, data: SILENT })
    }
    this.#budget.take(nextUs - fromUs)
    this.#nextUs = nextUs
  }
}
