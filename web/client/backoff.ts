import type { SluiceError } from './errors.ts'

const FIRST_MS = 500
const MOST_MS = 15_000
/** Servers move their clients one after the other, and clients ask at different moments, so a short delay spreads them enough. */
const OVER_MS = 100
/** A viewer who waits for a publisher sees the stream at most this long after its begin. */
const WAITING_MOST_MS = 5000

/**
 * The delay before the next attempt: hardly any after a session that the server has said to be over. Else it doubles with each
 * failure, up to a bound, and is never below what the server asks for. Half of it is random, so that the viewers of a server that
 * restarts do not return at the same moment.
 */
export function delayMs(failures: number, error: SluiceError, random: number): number {
  const isOver = error.code === 'moved' || (error.code === 'connection_lost' && error.status > 0)
  if (isOver && failures === 0) return OVER_MS * random
  const most = error.code === 'stream_not_published' ? WAITING_MOST_MS : MOST_MS
  const delay = Math.min(most, FIRST_MS * 2 ** Math.min(failures, 10))
  return Math.max(delay * (0.5 + random / 2), error.retryAfterMs * (1 + random / 4))
}
