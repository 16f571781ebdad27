import type { PartFact, Sample } from '../../core/hls/facts.ts'
import type { AudioTrack } from '../frame.ts'
import { codecsOf, declaredBitrateOf, initOf, type Mp4Track, mp4Tracks, partOf } from './fmp4.ts'
import type { HlsRendition, SegmentTotals, Targets } from './rendition.ts'

/** What the encoder makes of every source (`arguments.ts`): AAC-LC of two channels at 48 kHz. */
const ENCODED: AudioTrack = {
  kind: 'audio',
  codec: 'aac',
  sampleRate: 48_000,
  channels: 2,
  config: Uint8Array.of(0x11, 0x90),
}
/** A frame of it without any sound (ISO/IEC 14496-3 section 4.4.2). */
const SILENCE = Uint8Array.of(0x21, 0x00, 0x49, 0x90, 0x02, 0x19, 0x00, 0x23, 0x80)
/** Samples in a frame. */
const FRAME = 1024
/** The times of a part are not exact. */
const ROUNDING = FRAME / 4

/** A part of another rendition, from which the audio is taken. */
export interface PartWithAudio extends Pick<PartFact, 'duration'> {
  readonly audio: readonly Sample[]
  /** Where the part begins. */
  readonly startSeconds: number
  /** Epoch milliseconds. */
  readonly startMs: number
}

/**
 * The audio of another rendition as one of its own, with the same segments and parts. Durations are those of the other one,
 * which are off by less than a frame and a quarter of audio: a part ends up to a frame late, or a quarter early. Where there
 * is no audio, or where it comes too late, it has silence.
 */
export class AudioOnly {
  readonly #rendition: HlsRendition
  readonly #closed: (made: SegmentTotals) => void
  #track: Mp4Track | undefined
  /** Where the next frame is due by the times of the audio, and where it begins here, ticks. Null: a run begins. */
  #clock: { readonly due: number; readonly next: number } | null = null
  #sequence = 0
  #made = { frames: 0, bytes: 0, seconds: 0 }

  /** @param closed a segment is complete */
  constructor(rendition: HlsRendition, closed: (made: SegmentTotals) => void) {
    this.#rendition = rendition
    this.#closed = closed
  }

  /** A run begins. @param track of its audio; undefined: it has none */
  begin(track: Mp4Track | undefined): void {
    const audio = track?.info ?? ENCODED
    const described = mp4Tracks([audio])
    this.#track = described[0]
    this.#clock = null
    const [codecs, declaredBitrate] = [codecsOf([audio]), declaredBitrateOf([audio])]
    this.#rendition.begin(initOf(described), { codecs, size: null, range: 'SDR', declaredBitrate })
  }

  /** @param targets those of the other rendition */
  add({ audio, startSeconds, startMs, duration }: PartWithAudio, targets: Targets | null): void {
    if (this.#track === undefined || targets === null) return
    if (this.#rendition.targets === null) this.#rendition.choose(targets)
    const { timescale } = this.#track
    const start = Math.round(startSeconds * timescale)
    const samples = this.#continued(audio, start)
    this.#clock ??= { due: start, next: start }
    // Audio that is there reaches beyond the end, so that the frames of a part are off by less than one.
    this.#fill(samples, start + duration * timescale + FRAME - ROUNDING)
    if (samples.length === 0) this.#fill(samples, this.#clock.due + FRAME)
    const bytes = partOf(++this.#sequence, [{ id: this.#track.id, samples }])
    this.#rendition.add({ bytes, duration, independent: true }, startMs)
    this.#made = {
      frames: this.#made.frames + samples.length,
      bytes: this.#made.bytes + bytes.length,
      seconds: this.#made.seconds + duration,
    }
  }

  close(): void {
    this.#rendition.close()
    if (this.#made.frames > 0) this.#closed(this.#made)
    this.#made = { frames: 0, bytes: 0, seconds: 0 }
  }

  discontinue(): void {
    this.close()
    this.#clock = null
    this.#rendition.discontinue()
  }

  /** Each frame begins where the one before it ended. Frames that overlap are left out. */
  #continued(audio: readonly Sample[], start: number): Sample[] {
    const samples: Sample[] = []
    for (const sample of audio) {
      // Silence before the first frame ends where that frame begins.
      const due = this.#clock?.due ?? sample.dts - Math.floor(Math.max(0, sample.dts - start) / FRAME) * FRAME
      this.#clock ??= { due, next: due }
      this.#fill(samples, sample.dts)
      if (sample.dts <= this.#clock.due - FRAME) continue
      this.#push(samples, this.#clock.next, sample.data)
      this.#clock = { due: sample.dts + FRAME, next: this.#clock.next + FRAME }
    }
    return samples
  }

  /** Adds silence up to this time, in whole frames. */
  #fill(samples: Sample[], end: number): void {
    if (this.#clock === null) return
    let { due, next } = this.#clock
    for (; due + FRAME <= end; due += FRAME, next += FRAME) this.#push(samples, next, SILENCE)
    this.#clock = { due, next }
  }

  #push(samples: Sample[], dts: number, data: Uint8Array): void {
    samples.push({ dts, pts: dts, duration: FRAME, key: true, data })
  }
}
