import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { audioOnlyIndexOf } from '../../core/hls/channel.ts'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import type { EngineLoad } from '../../core/channels/runs/load.ts'
import type { MeterReading } from '../../core/channels/runs/measured.ts'
import type {
  LoadSlate,
  TranscodeEvent,
  TranscodeJob,
  TranscodeLog,
  Transcoder,
} from '../../core/channels/runs/transcoder.ts'
import { THUMBNAIL_FILE } from '../encoder/arguments.ts'
import type { Ffmpeg } from '../ffmpeg/ffmpeg.ts'
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
  /** The latest JPEG of an engine; null: there is none. */
  thumbnailOf(engineId: string): Promise<Buffer | null>
}

export function createTranscoder(options: TranscoderOptions): FfmpegTranscoder {
  const { folder, log, streams, outputs } = options
  const jobs = new Map<string, RunningTranscode>()
  const stopping = new Map<string, Promise<void>>()
  const pulled = new PulledSources(options)
  const folderOf = (engineId: string): string => join(folder, engineId)

  async function kill(engineId: string, keepFolder = false): Promise<void> {
    const job = jobs.get(engineId)
    jobs.delete(engineId)
    if (!keepFolder) {
      streams.close(engineId)
      outputs.close(engineId)
    }
    if (job) stopping.set(engineId, stop(engineId, job, keepFolder))
    await stopping.get(engineId)
  }

  /** Never rejects: a folder that could not be removed must not keep the node from its other engines. */
  async function stop(engineId: string, job: RunningTranscode, keepFolder: boolean): Promise<void> {
    try {
      await job.stop(keepFolder)
    } catch (error) {
      log.warn({ engine: engineId, err: error }, 'the files of an engine could not be removed')
    }
    stopping.delete(engineId)
  }

  return {
    thumbnailOf: (engineId) => readFile(join(folderOf(engineId), THUMBNAIL_FILE)).catch(() => null),
    kill,
    isRunning: (engineId) => jobs.has(engineId),
    viewed: (engineId, slateId) => jobs.get(engineId)?.viewed(slateId),
    async start() {
      await rm(folder, { recursive: true, force: true })
      await mkdir(folder, { recursive: true, mode: 0o700 })
    },
    async stop() {
      await Promise.all([...jobs.keys(), ...stopping.keys()].map((id) => kill(id)))
      await options.sources.stop()
      await rm(folder, { recursive: true, force: true })
    },
    launch(job, notify) {
      if (jobs.has(job.engineId)) return
      const { video, audioKbps } = job.ladder
      const copies = video.some(({ copy }) => copy)
      const renditions = video.length + (audioOnlyIndexOf(job.ladder) === null ? 0 : 1)
      const stream = streams.open(job.engineId, renditions, copies, audioKbps === null ? [] : job.audio)
      const tools = { ...options, pulled, stream, output: outputs.open(job) }
      const mine = new RunningTranscode(job, folderOf(job.engineId), tools, notify)
      jobs.set(job.engineId, mine)
      void begin(job, mine, notify)
    },
  }

  /** Starts a job after an earlier one of this engine has stopped. */
  async function begin(
    job: TranscodeJob,
    mine: RunningTranscode,
    notify: (event: TranscodeEvent | TranscodeLog) => void,
  ): Promise<void> {
    try {
      await stopping.get(job.engineId)
      await mine.start()
    } catch (error) {
      log.warn({ engine: job.engineId, err: error }, 'an engine could not be started')
      notify({ kind: 'died', message: `it could not be started: ${String(error)}` })
    }
  }
}
