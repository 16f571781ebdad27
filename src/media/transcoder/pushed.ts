import type { Clock } from '../../base/clock.ts'
import { SlowVideoWatch } from '../../core/hls/slowVideo.ts'
import type { Frame, FrameSink, TrackInfo } from '../frame.ts'
import { type KeyframeVerdict, KeyframeWatch } from '../../core/hls/keyframes.ts'
import type { CopySink, Encoder } from '../encoder/encoder.ts'
import type { FfmpegProcess } from '../ffmpeg/ffmpeg.ts'
import { MuxFeed } from '../ffmpeg/muxFeed.ts'
import { AudioGap } from '../hls/audioGap.ts'
import { type Fed, fedBy } from '../encoder/encoderWatch.ts'

/**
 * Why a source is detached from its process: the source is over, its tracks changed, the process failed, or it has to make
 * other renditions.
 */
export type Parting = 'over' | 'changed' | 'failed' | 'restart'

/** A process, and what takes the video that is copied. */
export type FedEncoder = Pick<Encoder, 'process' | 'copied'>

export interface PushedParts {
  readonly clock: Pick<Clock, 'monotonic'>
  /** Starts the process for these tracks; null when that fails. */
  readonly begin: (tracks: readonly TrackInfo[]) => FedEncoder | null
  /** Keyframes of video that is copied are far apart. */
  readonly keyframes: (verdict: KeyframeVerdict) => void
  /** The frames of the video are too far apart for segments, or no longer: the process has to be another one. */
  readonly slow: (isSlow: boolean) => void
  /** A frame came. */
  readonly observe: (frame: Frame) => void
  /** Whether a process can make something of these tracks. */
  readonly canPlay: (tracks: readonly TrackInfo[]) => boolean
  /** The source sends nothing to play, so no process can start. Called each time its tracks change to such ones. */
  readonly nothingToPlay: () => void
  /** May be called several times; the first call counts. */
  readonly part: (why: Parting) => void
}

/** In a longer gap of audio the encoder would make silence, so a new process begins after it. */
const SILENCE_MAX_US = 10_000_000

/** Feeds one process from a source. */
export class PushedInput implements FrameSink {
  readonly #parts: PushedParts
  readonly #mux: MuxFeed
  readonly #input: AudioGap
  readonly #keyframes = new KeyframeWatch()
  readonly #slow: SlowVideoWatch
  #process: FfmpegProcess | null = null
  #copied: CopySink | null = null
  #hasVideo = false
  #isPlayable = false
  #audioUs: number | null = null
  #isOver = false

  /** @param isSlow whether the process is one for video whose frames are far apart */
  constructor(parts: PushedParts, isSlow: boolean) {
    this.#parts = parts
    this.#slow = new SlowVideoWatch(isSlow)
    this.#mux = new MuxFeed({
      begin: (tracks) => this.#begin(tracks),
      write: (bytes) => this.#process?.write(bytes) ?? false,
      end: () => this.#part('over'),
    })
    this.#input = new AudioGap(this.#mux, parts.clock)
  }

  /** Does not start a process for tracks without anything to play; one starts when the source adds some. */
  tracks(tracks: readonly TrackInfo[]): void {
    this.#hasVideo = tracks.some(({ kind }) => kind === 'video')
    this.#isPlayable = this.#parts.canPlay(tracks)
    this.#audioUs = null
    if (this.#isPlayable) this.#input.tracks(tracks)
    else if (this.#process !== null) this.#part('changed')
    else if (!this.#isOver) this.#parts.nothingToPlay()
  }

  frame(frame: Frame): void {
    if (this.#isPlayable && !this.#hasVideo) this.#checkSilence(frame)
    if (this.#isOver || !this.#isPlayable) return
    this.#input.frame(frame)
    this.#parts.observe(frame)
    if (frame.kind !== 'video') return
    if (this.#copied !== null) this.#copy(frame, this.#copied)
    const isSlow = this.#slow.look(frame.decodeTimeUs)
    if (isSlow !== null) this.#parts.slow(isSlow)
  }

  #copy(frame: Frame, copied: CopySink): void {
    copied.frame(frame)
    const verdict = this.#keyframes.look(frame.timeUs, frame.key)
    if (verdict !== null) this.#parts.keyframes(verdict)
  }

  #checkSilence({ timeUs }: Frame): void {
    const stepUs = timeUs - (this.#audioUs ?? timeUs)
    this.#audioUs = timeUs
    if (Math.abs(stepUs) > SILENCE_MAX_US && this.#process !== null) this.#part('changed')
  }

  end(): void {
    this.#input.end()
  }

  get fed(): Fed {
    return fedBy(this.#mux)
  }

  #begin(tracks: readonly TrackInfo[]): void {
    if (this.#process !== null) return this.#part('changed')
    const encoder = this.#parts.begin(tracks)
    if (encoder === null) return this.#part('failed')
    this.#process = encoder.process
    this.#copied = encoder.copied
    const video = tracks.find(({ kind }) => kind === 'video')
    if (video) this.#copied?.track(video)
    void this.#process.exited.then(() => this.#part('failed'))
  }

  /** Detaches the process; it gets no more frames. */
  #part(why: Parting): void {
    this.#isOver = true
    this.#process = null
    this.#copied = null
    this.#parts.part(why)
  }
}
