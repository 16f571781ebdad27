import { audioOnlyIndexOf } from '../../core/hls/channel.ts'
import type { LoadSlate, TranscodeEvent, TranscodeJob, TranscodeLog } from '../../core/channels/runs/transcoder.ts'
import type { DialSource } from '../pulling.ts'
import { SlateShow } from '../slate/show.ts'
import { Encoding, type EncodingTools, STOP_GRACE_MS } from './encoding.ts'
import { type PullTranscodeParts, PullTranscode } from './pullTranscode.ts'
import { PushTranscode } from './pushTranscode.ts'
import type { PushSources } from './sources.ts'

export interface JobTools extends EncodingTools {
  readonly sources: PushSources
  readonly dial: DialSource
  readonly loadSlate: LoadSlate
}

/** One running engine: waits for its source, and runs an ffmpeg process exactly while it has one. */
export class RunningTranscode {
  readonly #job: TranscodeJob
  readonly #tools: JobTools
  readonly #stopping = new AbortController()
  readonly #encoding: Encoding
  readonly #pushed: PushTranscode
  readonly #slate: SlateShow
  #isReady = false
  #unwatch = (): void => undefined
  /** The making of the folder, then the work for a pulled source. */
  #work: Promise<void> = Promise.resolve()

  constructor(
    job: TranscodeJob,
    folder: string,
    tools: JobTools,
    notify: (event: TranscodeEvent | TranscodeLog) => void,
  ) {
    this.#job = job
    this.#tools = tools
    this.#encoding = new Encoding(job, folder, tools, notify, this.#stopping.signal)
    this.#pushed = new PushTranscode(this.#encoding, this.#stopping.signal)
    const { engineId, accountId, channelId, ladder } = job
    const rungs = ladder.video.map((rendition, index) => ({ ...rendition, index }))
    const load = (slateId: string) => tools.loadSlate({ accountId, channelId, slateId })
    const { audioKbps } = ladder
    const audioOnly = audioOnlyIndexOf(ladder)
    this.#slate = new SlateShow({ ...tools, engineId, folder, rungs, audioKbps, audioOnly, load })
  }

  /** A viewer requests a playlist; see `FfmpegTranscoder`. */
  viewed(slateId: string | null): void {
    if (this.#isReady) this.#slate.viewed(slateId)
  }

  async start(): Promise<void> {
    const { signal } = this.#stopping
    if (signal.aborted) return
    const made = this.#encoding.makeFolder()
    // A job that stops waits for its folder, so that it can remove it.
    this.#work = made.catch(() => undefined)
    await made
    if (signal.aborted) return
    const { source } = this.#job
    this.#encoding.ready()
    this.#isReady = true
    if (source.kind === 'push')
      this.#unwatch = this.#tools.sources.watch(source.ingestId, (media) => this.#pushed.take(media))
    else this.#work = this.#pull(source)
  }

  #pull(source: PullTranscodeParts['source']): Promise<void> {
    const parts = { name: this.#job.name, encoding: this.#encoding, pushed: this.#pushed, tools: this.#tools }
    const pulling = new PullTranscode({ ...parts, source, signal: this.#stopping.signal })
    return pulling.run().catch((error: unknown) => this.#encoding.broken(String(error)))
  }

  /** Resolves when the process is gone. Removes the folder, unless another job continues with it (`keepFolder`). */
  async stop(keepFolder: boolean): Promise<void> {
    this.#stopping.abort()
    this.#unwatch()
    this.#pushed.leave()
    await this.#slate.stop()
    await this.#encoding.stop(STOP_GRACE_MS)
    await this.#work
    await this.#pushed.done
    await this.#encoding.end(keepFolder)
  }
}
