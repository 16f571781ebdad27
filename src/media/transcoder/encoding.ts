import { mkdir, rm } from 'node:fs/promises'
import { audioOnlyIndexOf } from '../../core/hls/channel.ts'
import { type Clock, pause } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { EngineLoad, LoadControl, LoadVerdict } from '../../core/channels/runs/load.ts'
import { forSlowVideo } from '../../core/hls/slowVideo.ts'
import type { MeterReading } from '../../core/channels/runs/measured.ts'
import { coded, type CodedSentence, type Said, say, sentencesOf } from '../../core/notices.ts'
import type { TranscodeEvent, TranscodeJob, TranscodeLog } from '../../core/channels/runs/transcoder.ts'
import { encodedAudioTracks } from '../encoder/arguments.ts'
import { type Encoder, startEncoder } from '../encoder/encoder.ts'
import type { FfmpegExit, Ffmpeg, FfmpegProcess } from '../ffmpeg/ffmpeg.ts'
import type { Frame } from '../frame.ts'
import type { ChannelRun, ChannelStream } from '../hls/channelStream.ts'
import type { SegmentTotals } from '../hls/rendition.ts'
import { type Fed, watchEncoder } from '../encoder/encoderWatch.ts'
import type { EngineOutput } from './engineOutput.ts'

export interface EncodingTools {
  readonly ffmpeg: Ffmpeg
  readonly clock: Clock
  readonly log: Logger
  readonly meter: MeterReading
  readonly load: EngineLoad
  /** What viewers of the engine get. */
  readonly stream: ChannelStream
  /** What other servers get. */
  readonly output: EngineOutput
}

/** The input of one process. */
interface Run {
  /** What the source has: video, or audio that the ladder makes, or both. */
  readonly hasVideo: boolean
  /** The frames of the video are too far apart for segments. */
  readonly isSlow: boolean
  /** The indexes of its audio tracks in the list of its ingest; [0] without a list. */
  readonly audio: readonly number[]
  /** What keeps the video from being copied; null: nothing does. */
  readonly refusesCopy: string | null
  /** What it received so far. */
  readonly fed: () => Fed
}

export const STOP_GRACE_MS = 2000
/** Publishers that connect in turn and are cut cause one report in this time. */
const CUTS_EVERY_MS = 1000

/** The ffmpeg processes of one engine, one after another, and the HLS that is made of their output. */
export class Encoding {
  /** When the latest process started, monotonic. */
  startedAtMs = Number.NEGATIVE_INFINITY
  /** Called when the renditions change: the source at hand needs a new process. */
  restart = (): void => undefined
  readonly #job: TranscodeJob
  readonly #folder: string
  readonly #tools: EncodingTools
  readonly #notify: (event: TranscodeEvent | TranscodeLog) => void
  readonly #signal: AbortSignal
  readonly #load: LoadControl
  /** Undefined: there is no folder, as on a full disk. A process works without, since it writes no files. */
  #cwd: string | undefined
  #process: FfmpegProcess | null = null
  #loggedRefusal: string | null = null
  /** Something was reported of the source at hand. */
  #isReported = false
  /** The latest reason that was reported since there was media, and when, monotonic. */
  #cut: { readonly why: string; readonly atMs: number } | null = null

  /** @param signal aborts when the engine stops; later events are not reported */
  constructor(
    job: TranscodeJob,
    folder: string,
    tools: EncodingTools,
    notify: (event: TranscodeEvent | TranscodeLog) => void,
    signal: AbortSignal,
  ) {
    this.#job = job
    this.#folder = folder
    this.#tools = tools
    this.#signal = signal
    this.#load = tools.load.control(job)
    this.#notify = (event) => {
      if (!signal.aborted) notify(event)
    }
  }

  /** Stops the process at hand, and returns how it ended. */
  async stop(graceMs: number): Promise<FfmpegExit | undefined> {
    const exit = await this.#process?.stop(graceMs)
    this.#process = null
    return exit
  }

  /** After the last process. Removes the folder, unless another job continues with it. */
  async end(keepFolder: boolean): Promise<void> {
    this.#load.ended()
    if (!keepFolder) await rm(this.#folder, { recursive: true, force: true })
  }

  /** A frame of the source came. */
  observe(frame: Pick<Frame, 'kind' | 'timeUs'>): void {
    this.#tools.stream.observe(frame)
  }

  /** Starts a process. Null: it could not be started, and that was reported. */
  run({ hasVideo, isSlow, audio, refusesCopy, fed }: Run): Encoder | null {
    const { ffmpeg, clock, stream, output } = this.#tools
    if (hasVideo) this.#allowCopy(refusesCopy)
    const { audioKbps } = this.#job.ladder
    const rungs = isSlow ? this.#load.rungs.map(forSlowVideo) : this.#load.rungs
    const ladder = { hasVideo, audioTracks: audio, audioKbps, rungs }
    const audioTracks = encodedAudioTracks(ladder)
    const makesAudio = audioTracks.length > 0
    const run: ChannelRun = {
      rungs: ladder.rungs,
      audio: makesAudio ? (audioKbps ?? 0) * 1000 : 0,
      audioTracks,
      audioOnly: makesAudio ? audioOnlyIndexOf(this.#job.ladder) : null,
      segment: (index, made) => this.#measure(index, made, hasVideo),
      playable: () => this.#notify({ kind: 'manifest' }),
    }
    const ended = (): void => {
      stream.end()
      output.pause()
    }
    // The picture of an earlier source would stay the latest one.
    if (!hasVideo) stream.thumbnail = null
    const started = startEncoder({
      ffmpeg,
      clock,
      job: { name: this.#job.name, stdin: true, ...(this.#cwd === undefined ? {} : { cwd: this.#cwd }) },
      ladder,
      out: output.beside(run.rungs, stream.begin(run)),
      thumbnail: (jpeg) => (stream.thumbnail = jpeg),
      ended,
    })
    if (!started.ok) {
      ended()
      this.broken(started.error)
      return null
    }
    this.#watch(started.value, fed)
    return started.value
  }

  /** Logs a repeated reason only once. */
  #allowCopy(refusal: string | null): void {
    const copied = this.#job.ladder.video.find(({ copy }) => copy)
    if (copied === undefined) return
    this.#load.copies(refusal === null)
    if (refusal !== null && refusal !== this.#loggedRefusal)
      this.log('warn', `${refusal}, so ${copied.label} is encoded and not copied`, 'copy_refused')
    this.#loggedRefusal = refusal
  }

  #watch(encoder: Encoder, fed: () => Fed): void {
    const { clock, log } = this.#tools
    this.#process = encoder.process
    this.startedAtMs = clock.monotonic()
    const found = (verdict: LoadVerdict): void => this.#found(verdict)
    void watchEncoder({ clock, log, encoder, fed, load: this.#load, found })
  }

  #found({ log, restart, isHung }: LoadVerdict): void {
    if (log === null) return
    this.log(log.level, log.message)
    this.#notify({ kind: 'notice', sentences: this.#load.notice })
    if (restart || isHung) this.restart()
  }

  #measure(index: number, { frames, bytes, seconds }: SegmentTotals, hasVideo: boolean): void {
    const { clock, meter } = this.#tools
    const { engineId, ladder } = this.#job
    const made = ladder.video[index]
    const framerate = hasVideo && made ? Math.round((frames * 100) / seconds) / 100 : null
    if (framerate !== null) this.#load.counted(index, framerate)
    const rendition = { index, name: made?.label ?? 'audio' }
    meter.segment(engineId, rendition, { atMs: clock.now(), framerate, bitrate: Math.round((bytes * 8) / seconds) })
  }

  get clock(): Clock {
    return this.#tools.clock
  }

  /** Whether the ladder of this engine has audio. */
  get makesAudio(): boolean {
    return this.#job.ladder.audioKbps !== null
  }

  /** Makes the folder in which its processes work. Never rejects. */
  async makeFolder(): Promise<void> {
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 })
      this.#cwd = this.#folder
    } catch (error) {
      this.#tools.log.warn({ engine: this.#job.engineId, err: error }, 'an engine starts without a folder')
    }
  }

  /** Reports that the process at hand receives media. */
  sourceIsThere(): void {
    this.#cut = null
    this.#isReported = true
    this.#notify({ kind: 'source' })
    const sentences = this.#load.notice
    if (sentences.length > 0) this.#notify({ kind: 'notice', sentences })
  }

  /** Reports that the source has nothing that the ladder makes. */
  nothingToPlay(): void {
    this.#isReported = true
    this.#sourceIsLost(coded('source_not_in_ladder'))
  }

  /** Reports that the source has left, unless nothing was reported of it. */
  sourceIsGone(): void {
    if (this.#isReported) this.#sourceIsLost(coded('source_gone'))
    this.#isReported = false
  }

  #sourceIsLost(why: CodedSentence): void {
    this.#notify({ kind: 'sourceLost' })
    this.warn(say(why))
  }

  /** Reports why a publisher was cut: a reason that repeats once until there is media, and others once a second at most. */
  publisherCut(why: Said): void {
    const atMs = this.#tools.clock.monotonic()
    if (why.message === this.#cut?.why || atMs - (this.#cut?.atMs ?? Number.NEGATIVE_INFINITY) < CUTS_EVERY_MS) return
    this.#cut = { why: why.message, atMs }
    this.warn(say(coded('publisher_cut'), ...sentencesOf(why)))
  }

  /** Reports that the processes can run. */
  ready(): void {
    this.#notify({ kind: 'ready' })
  }

  /** Says why there is no source. */
  warn(why: Said): void {
    this.#notify({ kind: 'log', level: 'warn', ...why })
  }

  log(level: TranscodeLog['level'], message: string, code?: TranscodeLog['code']): void {
    this.#notify({ kind: 'log', level, message, ...(code === undefined ? {} : { code }) })
  }

  /** @param isFinal it is useless to try again, before a user has mended something */
  broken({ message, sentences = [] }: Said, isFinal = false): void {
    this.#notify({ kind: 'died', message, sentences, ...(isFinal ? { isFinal } : {}) })
  }

  /** `atMs` is monotonic. Returns at once when the engine stops. */
  async pauseUntilMs(atMs: number): Promise<void> {
    const { clock } = this.#tools
    const pauseMs = atMs - clock.monotonic()
    if (pauseMs > 0) await pause(clock, pauseMs, this.#signal)
  }
}
