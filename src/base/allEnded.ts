/** Waits until all have ended, also when one fails: nothing of them runs on after the answer. Rejects as the first that failed. */
export async function allEnded(works: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(works)).find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
}
