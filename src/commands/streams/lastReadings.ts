import type { SessionContext } from '../context.ts'

/** Writes what was measured last, when the sessions of this node have ended. Never rejects. */
export async function writeLastReadings(ctx: SessionContext): Promise<void> {
  const { streamMeter, accountMinutes, restreamUsage, store, log } = ctx
  try {
    streamMeter.sample()
    await streamMeter.write(store)
    await accountMinutes.write(store)
    await restreamUsage.write(store)
  } catch (error) {
    log.warn({ err: error }, 'the last readings of streams were lost')
  }
}
