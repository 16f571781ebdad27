import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { audioOnlyIndexOf } from '../../core/hls/channel.ts'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import type { EngineLoad } from '../../core/channels/runs/load.ts'
import type { MeterReading } from '../../core/channels/runs/measured.ts'
import { coded, say } from '../../core/notices.ts'
import type {
  LoadSlate,
  TranscodeEvent,
  TranscodeJob,
  TranscodeLog,
  Transcoder,
} from '../../core/channels/runs/transcoder.ts'
import { type Ffmpeg, ffmpegOf } from '../ffmpeg/ffmpeg.ts'
import type { ChannelStreams } from '../hls/channelStreams.ts'
import type { DialSource } from '../pulling.ts'
import type { EngineOutputs } from './engineOutput.ts'
import { RunningTranscode } from './job.ts'
import { PulledSources } from './pulledSources.ts'
import type { PushSources } from './sources.ts'

export interface TranscoderOptions {
  readonly ffmpeg: Ffmpeg
  readonly sources: PushSources
  readonly dial: DialSource
  readonly meter: MeterReading
  readonly load: EngineLoad
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Has one folder for each engine, and must hold nothing else: it is emptied. */
  readonly folder: string
  /** What viewers of engines get. */
  readonly streams: ChannelStreams
  /** What other servers get of engines. */
  readonly outputs: EngineOutputs
  /** Reads the slate of a channel. Null: it is gone. */
  readonly loadSlate: LoadSlate
}

/** A transcoder that runs ffmpeg processes on this node. */
export interface FfmpegTranscoder extends Transcoder {
  /** Removes the files of an earlier server. Call it first. */
  start(): Promise<void>
  /** Ends every job. Idempotent. */
  stop(): Promise<void>
  /** A viewer of an engine requests a playlist. The slate of its channel shows while it has no source; null: none does. */
  viewed(engineId: string, slateId: string | null): void
}

export const createTranscoder = (options: TranscoderOptions): FfmpegTranscoder => new EngineJobs(options)

/** The jobs of this node's engines, and those of them that end. */
class EngineJobs implements FfmpegTranscoder {
  readonly #options: TranscoderOptions
  readonly #pulled: PulledSources
  readonly #jobs = new Map<string, RunningTranscode>()
  readonly #stopping = new Map<string, Promise<void>>()

  constructor(options: TranscoderOptions) {
    this.#options = options
    this.#pulled = new PulledSources(options)
  }

  async start(): Promise<void> {
    const { folder } = this.#options
    await rm(folder, { recursive: true, force: true })
    await mkdir(folder, { recursive: true, mode: 0o700 })
  }

  async stop(): Promise<void> {
    const { folder, sources } = this.#options
    await Promise.all([...this.#jobs.keys(), ...this.#stopping.keys()].map((id) => this.kill(id)))
    await sources.stop()
    await rm(folder, { recursive: true, force: true })
  }

  launch(job: TranscodeJob, notify: (event: TranscodeEvent | TranscodeLog) => void): void {
    if (this.#jobs.has(job.engineId)) return
    const { streams, outputs } = this.#options
    const { video, audioKbps } = job.ladder
    const copies = video.some(({ copy }) => copy)
    const renditions = video.length + (audioOnlyIndexOf(job.ladder) === null ? 0 : 1)
    const stream = streams.open(job.engineId, renditions, copies, audioKbps === null ? [] : job.audio)
    const ffmpeg = ffmpegOf(this.#options.ffmpeg, job.accountId)
    const tools = { ...this.#options, ffmpeg, pulled: this.#pulled, stream, output: outputs.open(job) }
    const running = new RunningTranscode(job, this.#folderOf(job.engineId), tools, notify)
    this.#jobs.set(job.engineId, running)
    void this.#begin(job, running, notify)
  }

  async kill(engineId: string, keepFolder = false): Promise<void> {
    const job = this.#jobs.get(engineId)
    this.#jobs.delete(engineId)
    if (!keepFolder) {
      this.#options.streams.close(engineId)
      this.#options.outputs.close(engineId)
    }
    if (job) this.#stopping.set(engineId, this.#stopJob(engineId, job, keepFolder))
    await this.#stopping.get(engineId)
  }

  isRunning(engineId: string): boolean {
    return this.#jobs.has(engineId)
  }

  viewed(engineId: string, slateId: string | null): void {
    this.#jobs.get(engineId)?.viewed(slateId)
  }

  #folderOf(engineId: string): string {
    return join(this.#options.folder, engineId)
  }

  /** Starts a job after an earlier one of this engine has stopped. */
  async #begin(
    { engineId }: TranscodeJob,
    running: RunningTranscode,
    notify: (event: TranscodeEvent) => void,
  ): Promise<void> {
    try {
      await this.#stopping.get(engineId)
      await running.start()
    } catch (error) {
      this.#options.log.warn({ engine: engineId, err: error }, 'an engine could not be started')
      notify({ kind: 'died', ...say(coded('engine_not_started', { text: String(error) })) })
    }
  }

  /** Never rejects: a folder that could not be removed must not keep the node from its other engines. */
  async #stopJob(engineId: string, job: RunningTranscode, keepFolder: boolean): Promise<void> {
    try {
      await job.stop(keepFolder)
    } catch (error) {
      this.#options.log.warn({ engine: engineId, err: error }, 'the files of an engine could not be removed')
    }
    this.#stopping.delete(engineId)
  }
}
