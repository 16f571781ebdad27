import type { Clock } from '../base/clock.ts'
import { watchedFor } from '../base/lateLooks.ts'

/** The abort reason of a deadline that has passed. */
export class OutOfTime extends Error {
  override readonly name = 'OutOfTime'
  readonly limitMs: number
  constructor(limitMs: number) {
    super(`not done within ${limitMs} ms`)
    this.limitMs = limitMs
  }
}

/** The abort reason when our own side no longer wants the result. */
export class Stopped extends Error {
  override readonly name = 'Stopped'
}

export interface Deadline {
  readonly signal: AbortSignal
  /** Cancels the deadline; this aborts nothing. */
  cancel(): void
  /** Aborts now. */
  stop(): void
}

/**
 * A signal that aborts with `OutOfTime` after `limitMs`, or with its parent, for the parent's reason. A pause of this process
 * does not count: what came meanwhile still waits in the socket.
 */
export function startDeadline(clock: Clock, limitMs: number, parent?: AbortSignal): Deadline {
  const work = new AbortController()
  const timer = new AbortController()
  const follow = () => work.abort(reasonOf(parent))
  if (parent?.aborted) follow()
  parent?.addEventListener('abort', follow)
  // A cancelled sleep rejects. That is the normal end.
  watchedFor(clock, limitMs, timer.signal).then(
    () => work.abort(new OutOfTime(limitMs)),
    () => undefined,
  )
  return {
    signal: work.signal,
    cancel: () => {
      timer.abort()
      parent?.removeEventListener('abort', follow)
    },
    stop: () => work.abort(new Stopped('stopped')),
  }
}

/** Callers abort for reasons of their own. Here each of them only means: stop. */
function reasonOf(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason
  return reason instanceof OutOfTime || reason instanceof Stopped ? reason : new Stopped('stopped')
}
