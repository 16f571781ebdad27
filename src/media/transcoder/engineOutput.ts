import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { TranscodeJob } from '../../core/channels/runs/transcoder.ts'
import type { Rung } from '../../core/channels/runs/rungs.ts'
import type { LadderSink } from '../encoder/encodedLadder.ts'
import { type Frame, type FrameSink, type FrameSource, mainTracks, type TrackInfo } from '../frame.ts'
import { Hub } from '../hub.ts'

/** How long an output waits for the next process. A publisher that comes back and a new ladder need less. */
const WAITS_MS = 10_000
/** What follows a break begins this long after the last frame, at least: no two frames have one time. */
const STEP_US = 20_000

/** Whose output it is. */
export type OutputOf = Pick<TranscodeJob, 'engineId' | 'channelId' | 'accountId'>

interface OutputOptions {
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Logger
}

type Listener = (output: EngineOutput, what: 'started' | 'ended') => void

/**
 * The media of the best rendition that an engine makes, as it is and with the first audio, for other servers. Its processes follow each other on one
 * clock, so that a server sees one broadcast.
 *
 * It starts with the first tracks of a process. It ends when the engine stops, or when there has been no process for `WAITS_MS`.
 */
export class EngineOutput {
  readonly of: OutputOf
  /** What it gives, while it has started. */
  readonly media: FrameSource
  readonly #options: OutputOptions
  readonly #listener: Listener
  #hub: Hub | null = null
  /** When the process ended, monotonic; null: there is one. */
  #silentSinceMs: number | null = null
  /** What is added to the times of the process; null: its first frame says. */
  #offsetUs: number | null = null
  #latestUs = 0
  #latestAtMs: number | null = null
  #isClosed = false

  constructor(of: OutputOf, options: OutputOptions, listener: Listener) {
    this.of = of
    this.#options = options
    this.#listener = listener
    this.media = { subscribe: (sink) => this.#subscribe(sink) }
  }

  get hasStarted(): boolean {
    return this.#hub !== null
  }

  /** What takes the renditions of a process, and has this output take the best of them, too. */
  beside(rungs: readonly Rung[], out: LadderSink): LadderSink {
    const best = rungs.reduce((most, { bitrate }, at) => (bitrate > (rungs[most]?.bitrate ?? 0) ? at : most), 0)
    this.#silentSinceMs = null
    this.#offsetUs = null
    return {
      rungs: out.rungs.map((rung, at) => (at === best ? this.#beside(rung) : rung)),
      discontinue: (before) => {
        if (before === 'back') this.#offsetUs = null
        out.discontinue(before)
      },
    }
  }

  /** The process is gone. */
  pause(): void {
    this.#silentSinceMs = this.#options.clock.monotonic()
  }

  /** Call it every second. */
  tick(): void {
    if (this.#silentSinceMs !== null && this.#options.clock.monotonic() - this.#silentSinceMs >= WAITS_MS) this.#end()
  }

  /** The engine stops. What its process still makes is not for others. */
  close(): void {
    this.#isClosed = true
    this.#end()
  }

  #end(): void {
    const hub = this.#hub
    this.#hub = null
    if (hub === null) return
    this.#listener(this, 'ended')
    hub.end()
  }

  #beside(rung: LadderSink['rungs'][number]): LadderSink['rungs'][number] {
    return {
      tracks: (tracks) => {
        rung.tracks(tracks)
        this.#tracks(mainTracks(tracks))
      },
      frame: (frame) => {
        rung.frame(frame)
        if (frame.audioIndex === undefined) this.#frame(frame)
      },
    }
  }

  #tracks(tracks: readonly TrackInfo[]): void {
    if (this.#isClosed) return
    const isFirst = this.#hub === null
    this.#hub ??= new Hub(this.#options)
    this.#hub.tracks(tracks)
    if (isFirst) this.#listener(this, 'started')
  }

  #frame(frame: Frame): void {
    const nowMs = this.#options.clock.monotonic()
    this.#offsetUs ??= this.#nextUs(nowMs) - frame.decodeTimeUs
    const decodeTimeUs = Math.max(0, frame.decodeTimeUs + this.#offsetUs)
    const timeUs = Math.max(0, frame.timeUs + this.#offsetUs)
    this.#latestUs = Math.max(this.#latestUs, decodeTimeUs)
    this.#latestAtMs = nowMs
    this.#hub?.frame({ ...frame, timeUs, decodeTimeUs })
  }

  /** A break lasts as long here as it did in time. */
  #nextUs(nowMs: number): number {
    if (this.#latestAtMs === null) return STEP_US
    return this.#latestUs + Math.max(STEP_US, Math.round((nowMs - this.#latestAtMs) * 1000))
  }

  #subscribe(sink: FrameSink): () => void {
    if (this.#hub !== null) return this.#hub.subscribe(sink)
    sink.end()
    return () => undefined
  }
}

/** The outputs of the engines of this node. */
export class EngineOutputs {
  readonly #options: OutputOptions
  readonly #outputs = new Map<string, EngineOutput>()
  #listener: Listener = () => undefined

  constructor(options: OutputOptions) {
    this.#options = options
  }

  /** Hears of each output that has started, starts or ends. There is one listener. */
  watch(listener: Listener): void {
    this.#listener = listener
    for (const output of this.#outputs.values()) if (output.hasStarted) listener(output, 'started')
  }

  /** That of an engine that is launched, perhaps again. */
  open({ engineId, channelId, accountId }: OutputOf): EngineOutput {
    const of = { engineId, channelId, accountId }
    const open =
      this.#outputs.get(engineId) ?? new EngineOutput(of, this.#options, (...told) => this.#listener(...told))
    this.#outputs.set(engineId, open)
    return open
  }

  /** The engine stops. */
  close(engineId: string): void {
    this.#outputs.get(engineId)?.close()
    this.#outputs.delete(engineId)
  }

  /** Call it every second. */
  tick(): void {
    for (const output of this.#outputs.values()) output.tick()
  }
}
