import { access, mkdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import type { TranscodeEvent, TranscodeJob } from '../../core/life/transcoder.ts'
import type { Frame, FrameSink, FrameSource, Track } from '../frame.ts'
import type { Ffmpeg, FfmpegExit, FfmpegProcess } from '../packager/ffmpeg.ts'
import { MuxFeed } from '../packager/muxFeed.ts'
import { ladderArguments } from './arguments.ts'
import type { PushSources } from './sources.ts'

export interface JobTools {
  readonly ffmpeg: Ffmpeg
  readonly clock: Clock
  readonly sources: PushSources
}

const STOP_GRACE_MS = 2000
const LOOK_EVERY_MS = 150
/** A source that is dialled is dialled again after 1 s, 2 s, 4 s … at most so long. */
const DIAL_PAUSE_MAX_MS = 15_000

/** One engine at work: it waits for its source, and an ffmpeg process is there exactly while there is one. */
export class Job {
  readonly #job: TranscodeJob
  readonly #folder: string
  readonly #tools: JobTools
  readonly #tell: (event: TranscodeEvent) => void
  readonly #stopping = new AbortController()
  #process: FfmpegProcess | null = null
  #unwatch = (): void => undefined
  #unsubscribe = (): void => undefined
  /** Waits for the source no longer. */
  #leave = (): void => undefined
  #work: Promise<void> = Promise.resolve()

  constructor(job: TranscodeJob, folder: string, tools: JobTools, tell: (event: TranscodeEvent) => void) {
    this.#job = job
    this.#folder = folder
    this.#tools = tools
    this.#tell = (event) => {
      if (!this.#stopping.signal.aborted) tell(event)
    }
  }

  async start(): Promise<void> {
    for (const index of this.#job.ladder.video.keys()) {
      await mkdir(join(this.#folder, String(index)), { recursive: true, mode: 0o700 })
    }
    if (this.#stopping.signal.aborted) return
    const { source } = this.#job
    this.#tell({ kind: 'ready' })
    if (source.kind === 'pull') this.#work = this.#dial(source.url)
    else this.#unwatch = this.#tools.sources.watch(source.ingestId, (media) => this.#take(media))
  }

  /** Resolves when the process is gone and, unless another job goes on with it, the folder removed. */
  async stop(goesOn: boolean): Promise<void> {
    this.#stopping.abort()
    this.#unwatch()
    this.#unsubscribe()
    this.#leave()
    await this.#process?.stop(STOP_GRACE_MS)
    await this.#work
    if (!goesOn) await rm(this.#folder, { recursive: true, force: true })
  }

  /** A new source follows the old one: its process ends first, because both write the same files. */
  #take(media: FrameSource): void {
    this.#unsubscribe()
    this.#leave()
    this.#process?.end()
    this.#work = this.#work.then(() => this.#push(media)).catch((error: unknown) => this.#broken(String(error)))
  }

  async #push(media: FrameSource): Promise<void> {
    if (this.#stopping.signal.aborted) return
    await new Promise<void>((done) => {
      this.#leave = done
      const pushed = new Pushed({
        begin: (tracks) => this.#begin(tracks),
        ended: (exit, sourceIsOver) => this.#ended(exit, sourceIsOver),
        done,
      })
      this.#unsubscribe = media.subscribe(pushed)
    })
    this.#unsubscribe()
    await this.#process?.exited
  }

  /** The source has begun, or begins anew with other tracks. Null: ffmpeg cannot be started, which was told. */
  #begin(tracks: readonly Track[]): FfmpegProcess | null {
    this.#process?.end()
    const sound = tracks.some(({ kind }) => kind === 'audio')
    if (!tracks.some(({ kind }) => kind === 'video')) {
      this.#broken('the source has no video')
      return null
    }
    const process = this.#run(ladderArguments({ ladder: this.#job.ladder, sound, pullUrl: null }), true)
    if (process !== null) this.#sourceIsThere(process)
    return process
  }

  #run(args: string[], stdin: boolean, onFrames = (): void => undefined): FfmpegProcess | null {
    const started = this.#tools.ffmpeg.run({
      name: this.#job.name,
      args,
      stdin,
      cwd: this.#folder,
      onProgress: ({ outTimeMs }) => {
        if ((outTimeMs ?? 0) > 0) onFrames()
      },
    })
    if (!started.ok) {
      this.#broken(started.error.message)
      return null
    }
    this.#process = started.value
    return started.value
  }

  #sourceIsThere(process: FfmpegProcess): void {
    this.#tell({ kind: 'source' })
    void this.#awaitManifest(process)
  }

  /** Playlists are written when a segment is complete. */
  async #awaitManifest(process: FfmpegProcess): Promise<void> {
    const sinceMs = this.#tools.clock.now()
    const over = new AbortController()
    void process.exited.then(() => over.abort())
    const signal = AbortSignal.any([over.signal, this.#stopping.signal])
    while (!signal.aborted) {
      if (await this.#isPlayable(sinceMs)) return this.#tell({ kind: 'manifest' })
      await this.#tools.clock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined)
    }
  }

  /** Every rendition has a segment of this process; those of an earlier one do not count. */
  async #isPlayable(sinceMs: number): Promise<boolean> {
    try {
      await access(join(this.#folder, 'main.m3u8'))
      const lists = [...this.#job.ladder.video.keys()].map((index) => join(this.#folder, String(index), 'index.m3u8'))
      const written = await Promise.all(lists.map((list) => stat(list)))
      return written.every(({ mtimeMs }) => mtimeMs >= sinceMs)
    } catch {
      return false
    }
  }

  #ended({ code, tail }: FfmpegExit, sourceIsOver: boolean): void {
    if (sourceIsOver) this.#tell({ kind: 'sourceLost' })
    else this.#broken(`ffmpeg ended with ${code ?? 'a signal'}: ${lastLine(tail)}`)
  }

  #broken(message: string): void {
    this.#tell({ kind: 'died', message })
  }

  /** Dials the source until there is one, and again when it is lost. */
  async #dial(url: string): Promise<void> {
    let [failures, sound] = [0, true]
    while (!this.#stopping.signal.aborted) {
      let seen = false
      const process = this.#run(ladderArguments({ ladder: this.#job.ladder, sound, pullUrl: url }), false, () => {
        if (!seen && process) this.#sourceIsThere(process)
        seen = true
      })
      if (process === null) return
      const { tail } = await process.exited
      if (seen) this.#tell({ kind: 'sourceLost' })
      // A source without sound: what was asked of it is not there, and the next try does not ask.
      if (!seen && sound && /matches no streams/.test(tail)) sound = false
      failures = seen ? 1 : failures + 1
      const pauseMs = Math.min(DIAL_PAUSE_MAX_MS, 1000 * 2 ** Math.min(failures - 1, 4))
      await this.#tools.clock.sleep(pauseMs, this.#stopping.signal).catch(() => undefined)
    }
  }
}

const lastLine = (tail: string): string => tail.trim().split('\n').at(-1)?.slice(0, 300) ?? ''

interface PushedParts {
  /** Starts the process for these tracks; null when that is impossible. */
  readonly begin: (tracks: readonly Track[]) => FfmpegProcess | null
  readonly ended: (exit: FfmpegExit, sourceIsOver: boolean) => void
  /** The source is over. */
  readonly done: () => void
}

/** Between a source and the process that is fed from it. */
class Pushed implements FrameSink {
  readonly #mux: MuxFeed
  #process: FfmpegProcess | null = null
  #isOver = false
  #failed = false

  constructor({ begin, ended, done }: PushedParts) {
    this.#mux = new MuxFeed({
      begin: (tracks) => {
        this.#process = begin(tracks)
        this.#failed = this.#process === null
        const mine = this.#process
        // Of several, an older one ends because the tracks changed, which is no failure either.
        void mine?.exited.then((exit) => ended(exit, this.#isOver || this.#process !== mine))
      },
      write: (bytes) => this.#process?.write(bytes) ?? false,
      end: () => {
        this.#isOver = true
        this.#process?.end()
        done()
      },
    })
  }

  tracks(tracks: readonly Track[]): void {
    this.#mux.tracks(tracks)
  }

  frame(frame: Frame): void {
    if (!this.#failed) this.#mux.frame(frame)
  }

  end(): void {
    this.#mux.end()
  }
}
