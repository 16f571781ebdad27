import { setTimeout as pause } from 'node:timers/promises'

const FIRST_PAUSE_MS = 5
const LONGEST_PAUSE_MS = 200
/** The sum of all pauses of one wait. Below the limit of a test, so that a failure names its condition. */
const PAUSES_MS = 100_000

type Found<T> = Exclude<T, false | null | undefined>

/**
 * Waits until `look` returns something other than false, null or undefined, and returns that. Each pause is twice as long
 * as the one before, up to 200 ms: what is true soon is seen soon, and a long wait leaves the processor to what it waits
 * for. The limit counts pauses and not time, so that a slow machine has longer.
 * @param what the condition, for the error of a wait that never ends
 */
export async function until<T>(look: () => T | Promise<T>, what = String(look)): Promise<Found<T>> {
  let pausedMs = 0
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    const found = await look()
    if (found !== false && found !== null && found !== undefined) return found as Found<T>
    if (pausedMs >= PAUSES_MS) throw new Error(`never: ${what}`)
    await pause(pauseMs)
    pausedMs += pauseMs
  }
}

/** The same for a check that throws while it does not hold, such as `expect`. Fails with its last error. */
export async function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  let problem: unknown
  const tried = async (): Promise<{ value: T } | null> => {
    try {
      return { value: await check() }
    } catch (error) {
      problem = error
      return null
    }
  }
  const { value } = await until(tried, String(check)).catch(() => Promise.reject(problem))
  return value
}

/**
 * The pace of a source or a player in its loop, which takes real time because its subject does. Nothing is proved by it:
 * what a test asserts, it waits for.
 */
export const pace = (ms: number): Promise<void> => pause(ms)

/** A random moment of the next `ms` milliseconds, for a kill that may come at any. */
export const anyMoment = (ms: number): Promise<void> => pause(Math.random() * ms)
