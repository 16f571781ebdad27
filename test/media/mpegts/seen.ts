import type { Frame, FrameSink, TrackInfo } from '../../../src/media/frame.ts'
import { TsIngest } from '../../../src/media/mpegts/ingest.ts'

/** What an ingest has made of a transport stream. */
export class Seen implements FrameSink {
  readonly order: string[] = []
  readonly lists: (readonly TrackInfo[])[] = []
  readonly frames: Frame[] = []
  readonly leftOut: string[] = []
  nowMs = 0
  readonly ingest: TsIngest

  /** @param audioNumbers those of the ingest; default: none is listed */
  constructor(audioNumbers?: readonly number[]) {
    this.ingest = new TsIngest(this, {
      clock: { monotonic: () => this.nowMs },
      maxFrameBytes: 100_000,
      leftOut: (what) => this.leftOut.push(what),
      audioNumbers,
    })
  }

  tracks(tracks: readonly TrackInfo[]): void {
    this.lists.push(tracks)
    this.order.push(tracks.map(({ codec }) => codec).join('+'))
  }
  frame(frame: Frame): void {
    this.frames.push(frame)
    this.order.push(`${frame.kind} ${frame.timeUs / 1000}`)
  }
  end(): void {
    this.order.push('end')
  }
  /** Takes them in order; the last answer. */
  take(...parts: readonly Buffer[]): string | null {
    return parts.map((part) => this.ingest.take(part)?.message ?? null).at(-1) ?? null
  }
}

/** Of 90 kHz. */
export const ticks = (ms: number): number => ms * 90
export const DAMAGED = 'The transport stream is damaged: packets are missing, or do not add up'
