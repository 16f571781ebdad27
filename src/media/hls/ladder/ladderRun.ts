import { type Clock, pause } from '../../../base/clock.ts'
import { LateLooks } from '../../../base/lateLooks.ts'
import type { Logger } from '../../../base/log.ts'
import type { LoadControl, LoadVerdict } from '../../../core/channels/runs/load.ts'
import type { Rung } from '../../../core/channels/runs/rungs.ts'
import { type Encoder, startEncoder } from '../../encoder/encoder.ts'
import { followingArguments } from '../../encoder/followingArguments.ts'
import { exitReason } from '../../ffmpeg/exits.ts'
import type { Ffmpeg } from '../../ffmpeg/ffmpeg.ts'
import { MuxFeed } from '../../ffmpeg/muxFeed.ts'
import type { Frame, VideoTrack } from '../../frame.ts'
import { fedBy, watchEncoder } from '../../encoder/encoderWatch.ts'
import { FrameHistory, HISTORY_BYTES_MAX } from './frameHistory.ts'
import type { RungTrack } from './rungTrack.ts'

export interface LadderRunOptions {
  readonly ffmpeg: Ffmpeg
  readonly clock: Clock
  readonly log: Logger
  readonly name: string
  readonly load: LoadControl
  readonly video: VideoTrack
  readonly rungs: readonly { readonly rung: Rung; readonly track: RungTrack }[]
  /** The load has chosen other rungs. */
  readonly changed: (verdict: LoadVerdict) => void
  /** It cannot go on where it was. */
  readonly lost: (why: string) => void
}

const BACKOFF_MS = 250
const BACKOFF_MAX_MS = 4000
/** A process that ran for this long resets the back-off. */
const HEALTHY_MS = 30_000
const CHECK_EVERY_MS = 1000
/**
 * A run that is further behind its source has to get nearer within this time, or it is lost. A source may begin with ten
 * seconds, and sends more at once after a pause of this process.
 */
const BEHIND_US = 10_000_000
const CATCH_UP_MS = 5000
/** How long a process may take for the rest of its input. */
const DRAIN_MS = 5000
/** Between two frames. */
const AFTER_US = 500

/**
 * Encodes the rungs of one run of a source. A process that dies is followed by another one, which goes on with the very
 * next frame: the run keeps what that process needs to decode it.
 */
export class LadderRun {
  readonly #options: LadderRunOptions
  readonly #history = new FrameHistory()
  readonly #stopping = new AbortController()
  #encoder: Encoder | null = null
  #mux: MuxFeed | null = null
  #latestUs = 0
  #failures = 0
  /** Monotonic; null: no process has begun. */
  #startedAtMs: number | null = null
  readonly #looks: LateLooks
  #firstUs: number | null = null
  /** Since when it is too far behind its source and gets no nearer, monotonic, and how far; null: it is not. */
  #behind: { readonly us: number; readonly sinceMs: number } | null = null
  /** Settles when the run is over and its output was read. */
  #over: Promise<void> = Promise.resolve()

  constructor(options: LadderRunOptions) {
    this.#options = options
    this.#looks = new LateLooks(CHECK_EVERY_MS, options.clock.monotonic())
  }

  /** The next frame of the source. The first one is a keyframe of video. */
  frame(frame: Frame): void {
    if (frame.kind === 'audio') {
      for (const { track } of this.#options.rungs) track.audio(frame)
      return
    }
    this.#latestUs = frame.timeUs
    this.#firstUs ??= frame.timeUs
    if (frame.key) this.#history.encoded(this.#encodedUs)
    this.#history.add(frame)
    if (this.#startedAtMs === null) this.#start()
    else this.#feed(frame)
  }

  /** The segments of the source have gone on. */
  drain(): void {
    for (const { track } of this.#options.rungs) track.drain()
  }

  activate(): void {
    for (const { track } of this.#options.rungs) track.activate()
  }

  /** Gives up a run that is too far behind its source. Call it about every second. */
  check(): void {
    const atMs = this.#options.clock.monotonic()
    this.#looks.look(atMs)
    const behindUs = this.#latestUs - (this.#encodedUs ?? this.#firstUs ?? this.#latestUs)
    if (behindUs <= BEHIND_US) this.#behind = null
    else if (this.#behind === null || behindUs < this.#behind.us) this.#behind = { us: behindUs, sinceMs: atMs }
    const sinceMs = this.#behind?.sinceMs ?? atMs
    if (this.#looks.lastedMs(sinceMs, atMs) > CATCH_UP_MS) this.#lose('ffmpeg is too far behind')
  }

  /** The run of the source is over. Resolves when all of it is encoded. */
  async end(graceMs = DRAIN_MS): Promise<void> {
    this.#stopping.abort()
    const encoder = this.#encoder
    this.#encoder = null
    await encoder?.process.stop(graceMs)
    await this.#over
    for (const { track } of this.#options.rungs) track.finish()
  }

  /** Nothing more is made of it. Resolves when its process is gone. */
  async abandon(): Promise<void> {
    for (const { track } of this.#options.rungs) track.abandon()
    await this.end(0)
  }

  /** The presentation time up to which all rungs are encoded, microseconds. */
  get #encodedUs(): number | null {
    const all = this.#options.rungs.map(({ track }) => track.lastUs)
    return all.reduce((least, us) => (least === null || us === null ? null : Math.min(least, us)), all[0] ?? null)
  }

  #start(): void {
    const { ffmpeg, clock, log, name, load, rungs, changed } = this.#options
    const frames = this.#history.frames
    if (frames === null) return this.#lose('too much would have to be encoded again')
    this.#startedAtMs = clock.monotonic()
    const from = rungs.map(({ rung, track }) => ({
      rung,
      fromUs: track.lastUs === null ? null : track.lastUs + AFTER_US,
    }))
    const read = Promise.withResolvers<void>()
    const started = startEncoder({
      ffmpeg,
      clock,
      job: { name: `hls renditions ${name}`, stdin: true, backlogBytes: 2 * HISTORY_BYTES_MAX },
      ladder: { rungs: from.map(({ rung }) => rung), audioKbps: null, hasVideo: true, audioTracks: [] },
      args: followingArguments(from, ffmpeg.videoEncoder),
      out: { rungs: rungs.map(({ track }) => track), discontinue: () => undefined },
      ended: () => read.resolve(),
    })
    if (!started.ok) return void this.#failed(started.error.message)
    const encoder = started.value
    this.#encoder = encoder
    this.#over = read.promise
    const mux = this.#newMux(encoder)
    void watchEncoder({ clock, log, encoder, fed: () => fedBy(mux), load, found: changed })
    void this.#watchEnd(encoder)
    for (const frame of frames) this.#feed(frame)
  }

  #newMux({ process }: Encoder): MuxFeed {
    let begun = 0
    const mux = new MuxFeed({
      write: (bytes) => begun < 2 && process.write(bytes),
      // One process takes one stream.
      begin: () => {
        begun += 1
        if (begun === 2) this.#replace()
      },
      end: () => undefined,
    })
    mux.tracks([this.#options.video])
    this.#mux = mux
    return mux
  }

  #feed(frame: Frame): void {
    this.#mux?.frame(frame)
    if ((this.#mux?.dropped ?? 0) > 0) this.#replace()
  }

  /** Ends the process, which lacks a frame. The next one gets what it did not encode. */
  #replace(): void {
    this.#mux = null
    void this.#encoder?.process.stop(0)
  }

  async #watchEnd(encoder: Encoder): Promise<void> {
    const exit = await encoder.process.exited
    if (this.#encoder !== encoder) return
    this.#encoder = null
    this.#mux = null
    await this.#failed(exitReason(exit))
  }

  async #failed(problem: string): Promise<void> {
    const { clock, log, name } = this.#options
    if (this.#stopping.signal.aborted) return
    if (clock.monotonic() - (this.#startedAtMs ?? 0) > HEALTHY_MS) this.#failures = 0
    const pauseMs = Math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ** this.#failures++)
    log.warn({ name, problem, pauseMs }, 'the renditions of a stream are not encoded; they are tried again')
    await pause(clock, pauseMs, this.#stopping.signal)
    if (!this.#stopping.signal.aborted) this.#start()
  }

  #lose(why: string): void {
    if (!this.#stopping.signal.aborted) this.#options.lost(why)
  }
}
