import { access, mkdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { repeat } from '../../base/repeat.ts'
import type { EngineLoad, LoadControl, LoadVerdict } from '../../core/channels/runs/load.ts'
import type { MeterReading } from '../../core/channels/runs/measured.ts'
import type {
  Reached,
  ReachSource,
  TranscodeEvent,
  TranscodeJob,
  TranscodeLog,
} from '../../core/channels/runs/transcoder.ts'
import { withoutSource } from '../../base/withoutSource.ts'
import type { FrameSource, TrackInfo } from '../frame.ts'
import { exitReason, lastLine } from '../ffmpeg/exits.ts'
import type { Ffmpeg, FfmpegProcess } from '../ffmpeg/ffmpeg.ts'
import { ladderArguments, type LadderInput, type Launch, pullScript, TIMES_JUMPED } from './arguments.ts'
import { type Fed, watchEncoder } from './encoderWatch.ts'
import { alignPlaylists, clearLeftovers } from './leftovers.ts'
import { type Parting, PushedInput } from './pushed.ts'
import { SegmentMeter } from './segmentMeter.ts'
import type { PushSources } from './sources.ts'

export interface JobTools {
  readonly ffmpeg: Ffmpeg
  readonly clock: Clock
  readonly log: Logger
  readonly sources: PushSources
  readonly reach: ReachSource
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

const STOP_GRACE_MS = 2000
/** How long a process may take to encode the rest of a source; the next one waits for it. */
const DRAIN_MS = 5000
/** Successive sources start at most one process in this time. */
const START_EVERY_MS = 1000
const LOOK_EVERY_MS = 150
/** Sluice dials a source again after 1 s, 2 s, 4 s …, and after this long at most. */
const DIAL_PAUSE_MAX_MS = 15_000

/** One running engine: waits for its source, and runs an ffmpeg process exactly while it has one. */
export class RunningTranscode {
  readonly #job: TranscodeJob
  readonly #folder: string
  readonly #tools: JobTools
  readonly #notify: (event: TranscodeEvent | TranscodeLog) => void
  readonly #stopping = new AbortController()
  readonly #load: LoadControl
  #process: FfmpegProcess | null = null
  #startedAtMs = Number.NEGATIVE_INFINITY
  #unwatch = (): void => undefined
  #newest: FrameSource | null = null
  /** `#leave` gives up the source, `#restart` only its process. */
  #leave = (): void => undefined
  #restart = (): void => undefined
  #work: Promise<void> = Promise.resolve()

  constructor(
    job: TranscodeJob,
    folder: string,
    tools: JobTools,
    notify: (event: TranscodeEvent | TranscodeLog) => void,
  ) {
    this.#job = job
    this.#folder = folder
    this.#tools = tools
    this.#load = tools.load.control(job)
    this.#notify = (event) => {
      if (!this.#stopping.signal.aborted) notify(event)
    }
  }

  async start(): Promise<void> {
    if (this.#stopping.signal.aborted) return
    const made = this.#makeFolders()
    // A job that stops waits for its folders, so that it can remove all of them.
    this.#work = made.catch(() => undefined)
    await made
    if (this.#stopping.signal.aborted) return
    const { source } = this.#job
    this.#notify({ kind: 'ready' })
    if (source.kind === 'pull') this.#work = this.#dial(source)
    else this.#unwatch = this.#tools.sources.watch(source.ingestId, (media) => this.#take(media))
  }

  /** Resolves when the process is gone. Removes the folder, unless another job continues with it (`keepFolder`). */
  async stop(keepFolder: boolean): Promise<void> {
    this.#stopping.abort()
    this.#unwatch()
    this.#leave()
    await this.#process?.stop(STOP_GRACE_MS)
    await this.#work
    this.#load.ended()
    if (!keepFolder) await rm(this.#folder, { recursive: true, force: true })
  }

  /** A new source replaces the old one, whose process ends first, because both write the same files. */
  #take(media: FrameSource): void {
    this.#newest = media
    this.#leave()
    this.#work = this.#work.then(() => this.#push(media)).catch((error: unknown) => this.#broken(String(error)))
  }

  /**
   * Encodes a source; again with a new process when its tracks or the renditions change. The source replays its cached
   * keyframe for each process.
   */
  async #push(media: FrameSource): Promise<void> {
    let parting: Parting = 'changed'
    while (parting === 'changed' || parting === 'restart') {
      await this.#pauseUntilMs(this.#startedAtMs + START_EVERY_MS)
      await this.#clear()
      if (media !== this.#newest || this.#stopping.signal.aborted) return
      parting = await this.#feed(media)
    }
  }

  async #feed(media: FrameSource): Promise<Parting> {
    const { promise, resolve } = Promise.withResolvers<Parting>()
    this.#leave = () => resolve('over')
    this.#restart = () => resolve('restart')
    const pushed: PushedInput = new PushedInput({
      begin: (tracks) => this.#begin(tracks, () => pushed.fed),
      noVideo: () => this.#sourceHasNoVideo(),
      part: resolve,
    })
    const unsubscribe = media.subscribe(pushed)
    const parting = await promise
    unsubscribe()
    // A process that is too slow could not encode its backlog in time, so it gets less time to drain.
    const exit = await this.#process?.stop(parting === 'restart' ? STOP_GRACE_MS : DRAIN_MS)
    this.#process = null
    if (parting === 'over') this.#sourceIsLost()
    if (parting === 'failed' && exit) this.#broken(exitReason(exit))
    return parting
  }

  /** Starts a process for a source. Null: it could not be started, and the failure was reported. */
  #begin(tracks: readonly TrackInfo[], fed: () => Fed): FfmpegProcess | null {
    const hasAudio = tracks.some(({ kind }) => kind === 'audio')
    const process = this.#run({ hasAudio, fed })
    if (process === null) return null
    this.#log('info', `The source has ${tracks.map(({ kind, codec }) => `${codec} ${kind}`).join(' and ')}`)
    this.#sourceIsThere(process)
    return process
  }

  /** Starts a process that reads from `write`, or from `pull`. Null: it could not be started, and that was reported. */
  #run({ hasAudio, pull, fed }: Run): FfmpegProcess | null {
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
      this.#broken(started.error.message)
      return null
    }
    this.#process = started.value
    this.#startedAtMs = clock.monotonic()
    const found = (verdict: LoadVerdict): void => this.#found(verdict)
    void watchEncoder({ clock, log, process: started.value, fed: fed ?? null, load: this.#load, found })
    return started.value
  }

  #found({ log, restart }: LoadVerdict): void {
    if (log === null) return
    this.#log(log.level, log.message)
    this.#notify({ kind: 'notice', message: this.#load.notice })
    if (restart) this.#restart()
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

  async #makeFolders(): Promise<void> {
    for (const folder of this.#allFolders()) await mkdir(folder, { recursive: true, mode: 0o700 })
  }

  #allFolders(): string[] {
    return [...this.#job.ladder.video.keys()].map(this.#folderOf)
  }

  /** Cleans up before each process: ffmpeg removes no files of earlier processes. A failure does not stop the process. */
  async #clear(): Promise<void> {
    await Promise.allSettled(this.#allFolders().map((folder) => clearLeftovers(folder, this.#tools.clock.now())))
    const made = new Set(this.#load.rungs.map(({ index }) => this.#folderOf(index)))
    await alignPlaylists(this.#allFolders(), (folder) => made.has(folder))
  }

  #sourceIsThere(process: FfmpegProcess): void {
    this.#notify({ kind: 'source' })
    if (this.#load.notice !== null) this.#notify({ kind: 'notice', message: this.#load.notice })
    this.#awaitManifest(process)
  }

  /** Reports the manifest when all playlists of this process are there: ffmpeg writes them after the first segment. */
  #awaitManifest(process: FfmpegProcess): void {
    const { clock, log } = this.#tools
    const sinceMs = clock.now()
    const options = { clock, log, name: 'look for playlists', everyMs: LOOK_EVERY_MS, signal: this.#stopping.signal }
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

  #sourceIsLost(): void {
    this.#notify({ kind: 'sourceLost' })
    this.#log('warn', 'The source is gone')
  }

  #sourceHasNoVideo(): void {
    this.#notify({ kind: 'sourceLost' })
    this.#log('warn', NO_VIDEO)
  }

  #log(level: TranscodeLog['level'], message: string): void {
    this.#notify({ kind: 'log', level, message })
  }

  #broken(message: string): void {
    this.#notify({ kind: 'died', message })
  }

  /** Dials the source until it answers, and again when it is lost. */
  async #dial({ url, ingestId }: Extract<TranscodeJob['source'], { kind: 'pull' }>): Promise<void> {
    let [failures, hasAudio, logged] = [0, true, '']
    while (!this.#stopping.signal.aborted) {
      const reached = await this.#tools.reach(url, failures, this.#stopping.signal)
      if (this.#stopping.signal.aborted) return void (reached.ok && reached.value.close())
      if (!reached.ok && reached.error.isForbidden) return this.#broken(withoutSource(reached.error.message, url))
      const pulled = reached.ok
        ? await this.#pull(reached.value, ingestId, hasAudio)
        : { seen: false, restarts: false, tail: reached.error.message }
      if (pulled === null) return
      if (pulled.restarts) continue
      if (pulled.seen) this.#sourceIsLost()
      // The source has no audio, so the next try does not map it.
      if (!pulled.seen && hasAudio && /matches no streams/.test(pulled.tail)) hasAudio = false
      failures = pulled.seen ? 1 : failures + 1
      const reason = pulled.seen
        ? ''
        : lacksVideo(pulled.tail)
          ? NO_VIDEO
          : noAnswer(withoutSource(lastLine(pulled.tail), url))
      // Logs a repeated reason only once.
      if (reason !== '' && reason !== logged) this.#log('warn', reason)
      logged = reason
      const pauseMs = Math.min(DIAL_PAUSE_MAX_MS, 1000 * 2 ** Math.min(failures - 1, 4))
      await this.#pauseUntilMs(this.#tools.clock.monotonic() + pauseMs)
    }
  }

  /** Encodes a pulled source until it ends. Null: ffmpeg could not be started, and that was reported. */
  async #pull(reached: Reached, ingestId: string, hasAudio: boolean): Promise<Pulled | null> {
    let seen = false
    let gone = (): void => undefined
    try {
      await this.#clear()
      if (this.#stopping.signal.aborted) return null
      const onFrames = (): void => {
        if (!seen && process) {
          this.#log('info', 'The source answers')
          gone = this.#tools.meter.connected(ingestId, null).ended
          this.#sourceIsThere(process)
        }
        seen = true
      }
      const process = this.#run({ hasAudio, pull: { reached, onFrames } })
      if (process === null) return null
      let restarts = false
      this.#restart = () => {
        restarts = true
        void process.stop(STOP_GRACE_MS)
      }
      const { tail } = await process.exited
      return { seen, restarts, tail }
    } finally {
      gone()
      reached.close()
    }
  }

  /** `atMs` is monotonic. Returns at once when the job stops. */
  async #pauseUntilMs(atMs: number): Promise<void> {
    const pauseMs = atMs - this.#tools.clock.monotonic()
    if (pauseMs > 0) await this.#tools.clock.sleep(pauseMs, this.#stopping.signal).catch(() => undefined)
  }
}

/** How a pulled source ended. */
interface Pulled {
  /** Media arrived. */
  readonly seen: boolean
  /** Sluice ended the process, to make other renditions. */
  readonly restarts: boolean
  /** The last output of ffmpeg. */
  readonly tail: string
}

const NO_VIDEO = 'The source has no video: an engine encodes video, so there is nothing to play until it sends some'

/** ffmpeg's message when the source has no video for the renditions. */
const lacksVideo = (tail: string): boolean => /:v:0' in filtergraph.*matches no streams/.test(tail)

const noAnswer = (why: string): string =>
  `The source does not answer; it is dialled again at least every ${DIAL_PAUSE_MAX_MS / 1000} s: ${why}`
