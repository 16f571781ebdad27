import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import type { Said } from '../core/notices.ts'
import { type AttemptEvent, type DialAttempt, TargetDriver } from '../core/restream/driver.ts'
import {
  offTarget,
  TARGET_PAUSE_MAX_MS,
  type TargetEvent,
  type TargetNews,
  type TargetState,
} from '../core/restream/state.ts'
import { movedUrl } from '../core/restream/targets.ts'
import type { Bytes } from '../core/sessions/types.ts'
import { rateOf } from './feedMeter.ts'

/** Media of this node that is sent on. */
interface Restreamed {
  /** Unique among all broadcasts. */
  readonly feedId: string
  readonly accountId: string
}

/** A feed on the air. */
export interface RestreamedFeed extends Restreamed {
  readonly streamName: string
  readonly tokenId: number
}

/** A target with its key, which is in no report and no log. */
export interface OpenTarget {
  /** Its place in the list, from 0. */
  readonly index: number
  readonly url: string
  readonly key: string
  readonly label: string
  readonly enabled: boolean
  /** Video that RTMP does not carry is encoded again for it. */
  readonly transcode: boolean
}

/** What a target used. `liveMs`: how long it took media. */
export interface TargetUse extends Bytes {
  readonly liveMs: number
}

/** One attempt to send a feed to a target. */
export interface TargetAttempt extends DialAttempt {
  readonly bytes: Bytes
}

/** A target as reports show it, and what all of its attempts used. */
export interface TargetReport extends Pick<OpenTarget, 'index' | 'url' | 'label'>, TargetUse {
  readonly state: TargetState
  /** Bits per second, over the last seconds; null: it is not live, or not for long enough. */
  readonly bitrateOut: number | null
  /** The latest problem, also if it is over; null: there was none. */
  readonly lastProblem: TargetProblem | null
}

export interface TargetProblem extends Said {
  /** Epoch milliseconds. */
  readonly atMs: number
}

export interface RestreamsOptions<F extends Restreamed> {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** As they are stored now. */
  readonly targetsOf: (feed: F) => Promise<readonly OpenTarget[]>
  /** Must not report before it has returned. */
  readonly open: (target: OpenTarget, feed: F, report: (event: AttemptEvent) => void) => TargetAttempt
  /** Calls `changed` when the media of the feed gets other codecs than it has now. Returns the function that ends the watch. */
  readonly onOtherCodecs: (feed: F, changed: () => void) => () => void
  /** A target has another status. Must not throw. */
  readonly changed: (feed: F, target: TargetReport, news: TargetNews | null) => void
  /** A target has used this since the last call. Must not throw. */
  readonly used: (feed: F, use: TargetUse) => void
}

interface Running<F extends Restreamed> {
  readonly feed: F
  targets: RunningTarget<F>[]
  /** Loads its targets after the load before it. Never rejects. */
  loading: Promise<void>
  /** The last load has failed. */
  isUnread: boolean
}

/**
 * Sends media of this node on to its targets: feeds to those of their tokens, and what engines make to theirs. Each target goes
 * its own way: it holds up neither the publisher nor another target.
 */
export class Restreams<F extends Restreamed = RestreamedFeed> {
  readonly #options: RestreamsOptions<F>
  readonly #feeds = new Map<string, Running<F>>()

  constructor(options: RestreamsOptions<F>) {
    this.#options = options
  }

  /** Resolves when the targets of the feed are being dialled. */
  start(feed: F): Promise<void> {
    const running: Running<F> = { feed, targets: [], loading: Promise.resolve(), isUnread: false }
    this.#feeds.set(feed.feedId, running)
    return this.#load(running)
  }

  /** The media is over, or what it was sent on for is gone. */
  stop(feedId: string): void {
    const running = this.#feeds.get(feedId)
    this.#feeds.delete(feedId)
    for (const target of running?.targets ?? []) target.handle({ kind: 'stop' })
  }

  /** The node stops. */
  stopAll(): void {
    for (const feedId of this.#feeds.keys()) this.stop(feedId)
  }

  /** Applies changed targets, and dials refused ones again. Those that stay the same go on. */
  async sync(isMeant: (feed: F) => boolean): Promise<void> {
    const feeds = [...this.#feeds.values()].filter(({ feed }) => isMeant(feed))
    await Promise.all(feeds.map((running) => this.#load(running)))
  }

  /** Call it every second. Also reads targets again that could not be read. */
  tick(): void {
    for (const running of this.#feeds.values()) {
      if (running.isUnread) void this.#load(running, 'debug')
      for (const target of running.targets) target.tick()
    }
  }

  report(feedId: string): TargetReport[] {
    return (this.#feeds.get(feedId)?.targets ?? []).map((target) => target.report())
  }

  /** @param level of the log, if it fails */
  #load(running: Running<F>, level: 'error' | 'debug' = 'error'): Promise<void> {
    running.isUnread = false
    running.loading = running.loading
      .then(() => this.#apply(running))
      .catch((error: unknown) => {
        running.isUnread = true
        const feed = running.feed.feedId
        this.#options.log[level]({ err: error, feed }, 'the targets of a restream could not be read; trying again')
      })
    return running.loading
  }

  async #apply(running: Running<F>): Promise<void> {
    const wanted = await this.#options.targetsOf(running.feed)
    if (this.#feeds.get(running.feed.feedId) !== running) return
    const before = running.targets
    running.targets = wanted.map(
      (target) => before.find((one) => one.goesTo(target)) ?? new RunningTarget(this.#options, running.feed, target),
    )
    for (const target of before) {
      if (!running.targets.includes(target)) target.handle({ kind: 'stop' })
      else if (target.report().index >= wanted.length) target.leaveIndex()
    }
    for (const [index, target] of wanted.entries()) running.targets[index]?.follow(target)
  }
}

const NOTHING: TargetUse = { bytesIn: 0, bytesOut: 0, liveMs: 0 }
/** Totals of a target that is live, one a second: its bitrate is an average of five seconds. */
const MARKS_MAX = 6

/** One target, and what it uses. */
class RunningTarget<F extends Restreamed> {
  readonly #options: RestreamsOptions<F>
  readonly #feed: F
  readonly #driver: TargetDriver<TargetAttempt>
  #target: OpenTarget
  /** Of the attempts that are over. */
  #before: TargetUse = NOTHING
  /** What was passed on of its use. */
  #counted: TargetUse = NOTHING
  /** Monotonic milliseconds; null: it is not live. */
  #liveSinceMs: number | null = null
  #marks: readonly { readonly atMs: number; readonly bytesOut: number }[] = []
  #lastProblem: TargetProblem | null = null
  #unwatchCodecs = (): void => undefined

  constructor(options: RestreamsOptions<F>, feed: F, target: OpenTarget) {
    this.#options = options
    this.#feed = feed
    this.#target = target
    this.#driver = new TargetDriver({
      ...options,
      pauseMaxMs: TARGET_PAUSE_MAX_MS,
      open: (report, at) => options.open(this.#targetAt(at), feed, report),
      recorded: (state, news) => this.#recorded(state, news),
      ended: (attempt) => this.#ended(attempt),
    })
  }

  goesTo({ url, key, transcode }: OpenTarget): boolean {
    return this.#target.url === url && this.#target.key === key && this.#target.transcode === transcode
  }

  #targetAt(at: string | null): OpenTarget {
    return at === null ? this.#target : { ...this.#target, url: movedUrl(this.#target.url, at) }
  }

  /** Nothing has its index any more: it goes on with another one, and the list is shorter. */
  leaveIndex(): void {
    this.#options.changed(this.#feed, { ...this.report(), state: offTarget(this.#options.clock.now()) }, null)
  }

  /** Takes over what has changed of it. */
  follow(target: OpenTarget): void {
    const isMoved = target.index !== this.#target.index
    this.#target = target
    if (isMoved) this.#options.changed(this.#feed, this.report(), null)
    this.handle({ kind: target.enabled ? 'start' : 'stop' })
  }

  tick(): void {
    this.#driver.tick()
    this.#use()
    if (this.#liveSinceMs === null) return
    const atMs = this.#options.clock.monotonic()
    this.#marks = [...this.#marks.slice(1 - MARKS_MAX), { atMs, bytesOut: this.report().bytesOut }]
  }

  handle(event: TargetEvent): void {
    this.#driver.handle(event)
    this.#use()
  }

  report(): TargetReport {
    const { url, label, index } = this.#target
    const bytes = this.#driver.attempt?.bytes ?? { bytesIn: 0, bytesOut: 0 }
    const bytesIn = this.#before.bytesIn + bytes.bytesIn
    const bytesOut = this.#before.bytesOut + bytes.bytesOut
    const liveMs = this.#before.liveMs + this.#liveMs()
    const bitrateOut = rateOf(this.#marks, (mark) => mark.bytesOut * 8)
    return {
      url,
      label,
      index,
      state: this.#driver.state,
      bytesIn,
      bytesOut,
      liveMs,
      bitrateOut,
      lastProblem: this.#lastProblem,
    }
  }

  #use(): void {
    const { bytesIn, bytesOut, liveMs } = this.report()
    const [before, now] = [this.#counted, { bytesIn, bytesOut, liveMs: Math.floor(liveMs) }]
    this.#counted = now
    const use = {
      bytesIn: now.bytesIn - before.bytesIn,
      bytesOut: now.bytesOut - before.bytesOut,
      liveMs: now.liveMs - before.liveMs,
    }
    if (Object.values(use).some((figure) => figure > 0)) this.#options.used(this.#feed, use)
  }

  #liveMs(): number {
    return this.#liveSinceMs === null ? 0 : this.#options.clock.monotonic() - this.#liveSinceMs
  }

  #count({ status }: TargetState): void {
    if (status === 'live') {
      this.#liveSinceMs ??= this.#options.clock.monotonic()
      return
    }
    this.#before = { ...this.#before, liveMs: this.#before.liveMs + this.#liveMs() }
    this.#liveSinceMs = null
    this.#marks = []
  }

  #recorded(state: TargetState, news: TargetNews | null): void {
    const { clock, changed } = this.#options
    this.#count(state)
    if (state.problem !== null) this.#lastProblem = { ...state.problem, atMs: clock.now() }
    this.#watchCodecs(state)
    changed(this.#feed, this.report(), news)
  }

  #watchCodecs({ status }: TargetState): void {
    this.#unwatchCodecs()
    const changed = (): void => this.handle({ kind: 'otherCodecs' })
    this.#unwatchCodecs = status === 'failed' ? this.#options.onOtherCodecs(this.#feed, changed) : () => undefined
  }

  #ended({ bytes }: TargetAttempt): void {
    const { bytesIn, bytesOut, liveMs } = this.#before
    this.#before = { bytesIn: bytesIn + bytes.bytesIn, bytesOut: bytesOut + bytes.bytesOut, liveMs }
  }
}
