import { audioOnlyIndexOf } from '../../core/hls/channel.ts'
import type { Said } from '../../core/notices.ts'
import type { LoadSlate, TranscodeEvent, TranscodeJob, TranscodeLog } from '../../core/channels/runs/transcoder.ts'
import type { FrameSource } from '../frame.ts'
import { SlateShow } from '../slate/show.ts'
import { Encoding, type EncodingTools, STOP_GRACE_MS } from './encoding.ts'
import type { PulledSources } from './pulledSources.ts'
import { PushTranscode } from './pushTranscode.ts'
import type { PushSources } from './sources.ts'

export interface JobTools extends EncodingTools {
  readonly sources: PushSources
  readonly pulled: PulledSources
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
  /** Resolves when the folder is made. Never rejects. */
  #made: Promise<void> = Promise.resolve()

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
    // A job that stops waits for its folder, so that it can remove it.
    this.#made = this.#encoding.makeFolder()
    await this.#made
    if (signal.aborted) return
    this.#encoding.ready()
    this.#isReady = true
    this.#unwatch = this.#watch()
  }

  /** Takes the media of the source, whenever there is some. Returns the function that leaves it. */
  #watch(): () => void {
    const { accountId, source, audio } = this.#job
    const [encoding, pushed] = [this.#encoding, this.#pushed]
    const media = (one: FrameSource): void => pushed.take(one)
    // What was encoded is reported as lost first.
    const later = (tell: () => void): void => void pushed.done.then(tell)
    const refused = (why: Said): void => later(() => encoding.publisherCut(why))
    if (source.kind === 'push') return this.#tools.sources.watch(source.ingestId, { media, refused })
    return this.#tools.pulled.watch(
      { ...source, accountId, audio },
      {
        media,
        missing: (why) => later(() => encoding.warn(why)),
        givenUp: (why) => later(() => encoding.broken(why, true)),
        leftOut: (what) => encoding.log('info', `Of the source: ${what}`),
      },
    )
  }

  /** Resolves when the process is gone. Removes the folder, unless another job continues with it (`keepFolder`). */
  async stop(keepFolder: boolean): Promise<void> {
    this.#stopping.abort()
    this.#unwatch()
    this.#pushed.leave()
    await this.#slate.stop()
    await this.#encoding.stop(STOP_GRACE_MS)
    await this.#made
    await this.#pushed.done
    await this.#encoding.end(keepFolder)
  }
}
