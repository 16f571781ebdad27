import { access, mkdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { repeat } from '../../base/repeat.ts'
import type { EngineLoad, LoadControl, LoadVerdict } from '../../core/channels/runs/load.ts'
import type { MeterReading } from '../../core/channels/runs/measured.ts'
import type { Reached, TranscodeEvent, TranscodeJob, TranscodeLog } from '../../core/channels/runs/transcoder.ts'
import type { FfmpegExit, Ffmpeg, FfmpegProcess } from '../ffmpeg/ffmpeg.ts'
import { ladderArguments, type LadderInput, type Launch, pullScript, TIMES_JUMPED } from './arguments.ts'
import { type Fed, watchEncoder } from './encoderWatch.ts'
import { alignPlaylists, clearLeftovers } from './leftovers.ts'
import { SegmentMeter } from './segmentMeter.ts'

export interface EncodingTools {
  readonly ffmpeg: Ffmpeg
  readonly clock: Clock
  readonly log: Logger
  readonly meter: MeterReading
  readonly load: EngineLoad
  /** For the next process of this engine. */
  readonly nextLaunch: () => Launch
}

/** The input of one process. */
interface Run extends Pick<LadderInput, 'hasAudio'> {
  readonly pull?: { readonly reached: Reached; readonly onFrames: () => void }
  /** What it received so far; absent when it reads its source itself. */
  readonly fed?: () => Fed
}

export const STOP_GRACE_MS = 2000
const LOOK_EVERY_MS = 150

/** The ffmpeg processes of one engine, one after another, and the files that they write. */
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
  #process: FfmpegProcess | null = null

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

  /** Starts a process that is fed, or that reads from `pull`. Null: it could not be started, and that was reported. */
  run({ hasAudio, pull, fed }: Run): FfmpegProcess | null {
    const { ffmpeg, clock, log, nextLaunch } = this.#tools
    const { audioKbps } = this.#job.ladder
    const launch = nextLaunch()
    const meter = this.#meterOf(launch)
    const started = ffmpeg.run({
      name: this.#job.name,
      args: ladderArguments({ hasAudio, input: pull ? 'pull' : 'push', ...launch, rungs: this.#load.rungs, audioKbps }),
      ...(pull ? { script: pullScript(pull.reached), endsOn: TIMES_JUMPED } : { stdin: true }),
      cwd: this.#folder,
      onProgress: ({ outTimeMs }) => {
        void meter.look()
        if ((outTimeMs ?? 0) > 0) pull?.onFrames()
      },
    })
    if (!started.ok) {
      this.broken(started.error.message)
      return null
    }
    this.#process = started.value
    this.startedAtMs = clock.monotonic()
    const found = (verdict: LoadVerdict): void => this.#found(verdict)
    void watchEncoder({ clock, log, process: started.value, fed: fed ?? null, load: this.#load, found })
    return started.value
  }

  #found({ log, restart }: LoadVerdict): void {
    if (log === null) return
    this.log(log.level, log.message)
    this.#notify({ kind: 'notice', message: this.#load.notice })
    if (restart) this.restart()
  }

  #meterOf({ launch }: Launch): SegmentMeter {
    const { clock, meter } = this.#tools
    const { engineId, ladder } = this.#job
    return new SegmentMeter({
      clock,
      folders: new Map(this.#load.rungs.map(({ index }) => [index, this.#folderOf(index)])),
      launch,
      measured: (index, sample) => {
        if (sample.framerate !== null) this.#load.counted(index, sample.framerate)
        meter.segment(engineId, { index, name: ladder.video[index]?.label ?? '' }, sample)
      },
    })
  }

  #folderOf = (index: number): string => join(this.#folder, String(index))

  async makeFolders(): Promise<void> {
    for (const folder of this.#allFolders()) await mkdir(folder, { recursive: true, mode: 0o700 })
  }

  #allFolders(): string[] {
    return [...this.#job.ladder.video.keys()].map(this.#folderOf)
  }

  /** Cleans up before each process: ffmpeg removes no files of earlier processes. A failure does not stop the process. */
  async clear(): Promise<void> {
    await Promise.allSettled(this.#allFolders().map((folder) => clearLeftovers(folder, this.#tools.clock.now())))
    const made = new Set(this.#load.rungs.map(({ index }) => this.#folderOf(index)))
    await alignPlaylists(this.#allFolders(), (folder) => made.has(folder))
  }

  /** Reports that `process` receives media. */
  sourceIsThere(process: FfmpegProcess): void {
    this.#notify({ kind: 'source' })
    if (this.#load.notice !== null) this.#notify({ kind: 'notice', message: this.#load.notice })
    this.#awaitManifest(process)
  }

  /** Reports the manifest when all playlists of this process are there: ffmpeg writes them after the first segment. */
  #awaitManifest(process: FfmpegProcess): void {
    const { clock, log } = this.#tools
    const sinceMs = clock.now()
    const options = { clock, log, name: 'look for playlists', everyMs: LOOK_EVERY_MS, signal: this.#signal }
    const looking = repeat(options, async () => {
      if (!(await this.#isPlayable(sinceMs))) return undefined
      this.#notify({ kind: 'manifest' })
      return 'done'
    })
    void process.exited.then(() => looking.stop())
  }

  /** True when every rendition has a segment of this process; those of an earlier one do not count. */
  async #isPlayable(sinceMs: number): Promise<boolean> {
    try {
      await access(join(this.#folder, 'main.m3u8'))
      const written = await Promise.all(
        this.#load.rungs.map(({ index }) => stat(join(this.#folderOf(index), 'index.m3u8'))),
      )
      return written.every(({ mtimeMs }) => mtimeMs >= sinceMs)
    } catch {
      return false
    }
  }

  sourceIsLost(why = 'The source is gone'): void {
    this.#notify({ kind: 'sourceLost' })
    this.log('warn', why)
  }

  /** Reports that the processes can run. */
  ready(): void {
    this.#notify({ kind: 'ready' })
  }

  log(level: TranscodeLog['level'], message: string): void {
    this.#notify({ kind: 'log', level, message })
  }

  broken(message: string): void {
    this.#notify({ kind: 'died', message })
  }

  /** `atMs` is monotonic. Returns at once when the engine stops. */
  async pauseUntilMs(atMs: number): Promise<void> {
    const { clock } = this.#tools
    const pauseMs = atMs - clock.monotonic()
    if (pauseMs > 0) await clock.sleep(pauseMs, this.#signal).catch(() => undefined)
  }
}

export const NO_VIDEO =
  'The source has no video: an engine encodes video, so there is nothing to play until it sends some'
