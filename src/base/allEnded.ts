/** Waits until all have ended, also when one fails: nothing of them runs on after the answer. Rejects as the first that failed. */
export async function allEnded(works: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(works)).find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
}

/** Does one after the other, even if one fails, so that a stop reaches every part. Rejects at the end as the first that failed. */
export async function allInTurn(works: readonly (() => unknown)[]): Promise<void> {
  const errors: unknown[] = []
  for (const work of works) {
    try {
      await work()
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}
