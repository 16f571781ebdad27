import type { SessionContext } from '../context.ts'

/** Writes what was measured last, when the sessions of this node have ended. Never rejects. */
export async function writeLastReadings({ streamMeter, accountMinutes, store, log }: SessionContext): Promise<void> {
  try {
    streamMeter.sample()
    await streamMeter.write(store)
    await accountMinutes.write(store)
  } catch (error) {
    log.warn({ err: error }, 'the last readings of streams were lost')
  }
}
