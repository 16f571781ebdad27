import type { SessionContext } from '../context.ts'

/** Writes what was measured and reported last, when the sessions of this node have ended. Never rejects. */
export async function writeLastReadings(ctx: SessionContext): Promise<void> {
  const { streamMeter, accountMinutes, restreamUsage, playerReports, store, log } = ctx
  try {
    streamMeter.sample()
    await streamMeter.write(store)
    await accountMinutes.write(store)
    await restreamUsage.write(store)
    await playerReports.write(store)
  } catch (error) {
    log.warn({ err: error }, 'the last readings of streams, or reports of their players, were lost')
  }
}
