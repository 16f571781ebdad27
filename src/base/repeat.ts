import { type Clock, pause } from './clock.ts'
import type { Logger } from './log.ts'
import type { Random } from './random.ts'

export interface RepeatOptions {
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn'>
  /** What is repeated, for the log. */
  readonly name: string
  /** The pause between the end of one round and the beginning of the next, milliseconds. */
  readonly everyMs: number
  /** True: the first round comes after a pause. Absent: it begins at once. */
  readonly pausesFirst?: boolean
  /**
   * Spreads the rounds of servers that started together, or that waited for one database: the first pause is a random part of
   * `everyMs`, and each later one differs from it by up to a tenth.
   */
  readonly jitter?: Random
  /** Ends the repetition when it is aborted. */
  readonly signal?: AbortSignal
}

export interface Repetition {
  /** Resolves when the last round has ended. Never rejects. */
  readonly over: Promise<void>
  /** Begins no further round and waits for the one in progress. Idempotent. */
  stop(): Promise<void>
}

/** One round. It returns `done` to end the repetition. `signal` is aborted when the repetition has to end. */
export type Round = (signal: AbortSignal) => Promise<'done' | void>

/**
 * Runs `round` repeatedly: one at a time, with a pause after each. A failed round does not end the repetition, because
 * stopped work would go unnoticed until the disk is full. The log gets one line for a failure that repeats, and one line
 * when the work succeeds again.
 */
export function repeat(options: RepeatOptions, round: Round): Repetition {
  const stopping = new AbortController()
  const signal = options.signal ? AbortSignal.any([options.signal, stopping.signal]) : stopping.signal
  const over = run(options, round, signal)
  return {
    over,
    stop() {
      stopping.abort()
      return over
    },
  }
}

async function run(options: RepeatOptions, round: Round, signal: AbortSignal): Promise<void> {
  const { clock, everyMs, jitter } = options
  const failures = new Failures(options)
  if (options.pausesFirst) await pause(clock, everyMs * (randomPart(jitter) ?? 1), signal)
  while (!signal.aborted) {
    try {
      const answer = await round(signal)
      failures.none()
      if (answer === 'done') return
    } catch (error) {
      failures.add(error)
    }
    if (!signal.aborted) await pause(clock, everyMs * (0.9 + 0.2 * (randomPart(jitter) ?? 0.5)), signal)
  }
}

/** From 0 to 1. */
const randomPart = (random: Random | undefined): number | undefined =>
  random === undefined ? undefined : random.bytes(2).readUInt16BE() / 0xffff

/** Logs the failures of a job: one line for a failure that repeats, and one when the job works again. */
export class Failures {
  readonly #log: RepeatOptions['log']
  readonly #job: string
  #latest = ''
  #count = 0

  constructor({ log, name }: Pick<RepeatOptions, 'log' | 'name'>) {
    this.#log = log
    this.#job = name
  }

  add(error: unknown): void {
    this.#count += 1
    const text = String(error)
    if (text !== this.#latest) this.#log.warn({ job: this.#job, err: error }, 'a job failed; it is tried again')
    this.#latest = text
  }

  none(): void {
    if (this.#count > 0) this.#log.info({ job: this.#job, failures: this.#count }, 'a job works again')
    this.#count = 0
    this.#latest = ''
  }
}
