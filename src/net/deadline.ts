import type { Clock } from '../base/clock.ts'

/** The reason of a signal whose time is up. */
export class OutOfTime extends Error {
  override readonly name = 'OutOfTime'
  readonly limitMs: number
  constructor(limitMs: number) {
    super(`not done within ${limitMs} ms`)
    this.limitMs = limitMs
  }
}

/** The reason of a signal that somebody on our side gave: the work is no longer wanted. */
export class Stopped extends Error {
  override readonly name = 'Stopped'
}

export interface Deadline {
  readonly signal: AbortSignal
  /** Ends it before its time, which aborts nothing. */
  cancel(): void
  /** Aborts now. */
  stop(): void
}

/** A signal that aborts with `OutOfTime` after `limitMs`, or together with its parent, for the parent's reason. */
export function startDeadline(clock: Clock, limitMs: number, parent?: AbortSignal): Deadline {
  const work = new AbortController()
  const timer = new AbortController()
  const follow = () => work.abort(reasonOf(parent))
  if (parent?.aborted) follow()
  parent?.addEventListener('abort', follow)
  // A sleep that was cancelled rejects; that is the good end.
  clock.sleep(limitMs, timer.signal).then(
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

/** Callers abort for reasons of their own, which are nothing to us but the wish to stop. */
function reasonOf(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason
  return reason instanceof OutOfTime || reason instanceof Stopped ? reason : new Stopped('stopped')
}

/** Waits for work that cannot be cancelled, but no longer than the signal allows. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const give = () => reject(signal.reason as Error)
    if (signal.aborted) give()
    signal.addEventListener('abort', give, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', give))
  })
}
