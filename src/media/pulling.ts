import type { Socket } from 'node:net'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Result } from '../base/result.ts'
import { coded, type Said, say } from '../core/notices.ts'
import type { FrameSink } from './frame.ts'
import type { LinkTotals } from './measure/linkMeter.ts'

/** Why a source gives no media: another attempt may succeed, the login is refused, or none can succeed with what it sends. */
export interface PullProblem extends Said {
  readonly kind: 'lost' | 'refused' | 'unsuitable'
}

export const REDIRECTED: PullProblem = { kind: 'refused', ...say(coded('source_redirects')) }

export interface PulledSourceOptions {
  readonly clock: Clock
  readonly log: Pick<Logger, 'error'>
  /** The connection to the source. Nothing was read from it, or written to it. */
  readonly socket: Socket
  /** With its secrets. */
  readonly url: URL
  /** Of one frame of video. */
  readonly maxFrameBytes: number
  readonly sink: FrameSink
  /** Of a transport stream over SRT: see `TsIngestOptions`. */
  readonly audioNumbers?: readonly (number | null)[]
  /** Something is left out or mended; a sentence for the operator, one of a few. */
  readonly leftOut: (what: string) => void
  /** It is over, for this reason. Once, and not after `end`. */
  readonly ended: (problem: PullProblem) => void
}

/** Takes the media of a source, over a connection that exists. */
export interface PulledSource {
  /** Bytes that the source has sent. */
  readonly bytesIn: number
  /** Absent: the protocol does not count its packets. */
  readonly link?: LinkTotals | undefined
  /** Called once. */
  start(): Promise<void>
  /** Called every second. */
  tick(): void
  /** Takes nothing any more. Idempotent. */
  end(): void
}

/** What a source is taken with, beside its connection and its URL. */
export interface SourceOptions extends Pick<PulledSourceOptions, 'sink' | 'audioNumbers' | 'leftOut' | 'ended'> {
  /** For the log. */
  readonly name: string
  readonly accountId: string
  /** Aborted when the media is not wanted any more; `end` is called as well. */
  readonly signal: AbortSignal
}

/** A connection to a source, of which nothing was read yet. Call `open` or `close`. */
export interface DialledSource {
  /** Its address. */
  readonly peer: string
  close(): void
  open(options: SourceOptions): Promise<PulledSource>
}

/** Dials a source, whose URL was checked. The error has no secrets. */
export type DialSource = (url: URL, signal: AbortSignal) => Promise<Result<DialledSource, Said>>

/** A source that sends nothing for this long is gone. */
export const SILENT_SECONDS = 10
export const NO_MEDIA = say(coded('source_no_media', { seconds: SILENT_SECONDS }))
export const CLOSED = say(coded('source_closed'))
export const NO_ANSWER = say(coded('source_no_answer'))
/** The reason for an operator when the fault is ours. */
export const SLUICE_FAILED = say(coded('source_failed_here'))

/**
 * Tells when a source has fallen silent. It counts looks and not time, so that after a pause of this process it first sees what
 * has come meanwhile.
 */
export class SilenceWatch {
  #receivedBefore = -1
  #silentLooks = 0

  /** Called every second. @param received grows with what comes @returns whether nothing has come for `SILENT_SECONDS` */
  look(received: number): boolean {
    this.#silentLooks = received === this.#receivedBefore ? this.#silentLooks + 1 : 0
    this.#receivedBefore = received
    return this.#silentLooks >= SILENT_SECONDS
  }
}
