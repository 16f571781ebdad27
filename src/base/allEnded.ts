/** Waits until all have ended, also when one fails: nothing of them runs on after the answer. Rejects as the first that failed. */
export async function allEnded(works: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(works)).find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
}

/** Does one after the other, also when one fails, as stopping wants it. Rejects at the end as the first that failed. */
export async function allInTurn(works: readonly (() => unknown)[]): Promise<void> {
  const ended: Promise<void>[] = []
  for (const work of works) {
    const one = (async () => void (await work()))()
    ended.push(one)
    await one.catch(() => undefined)
  }
  await allEnded(ended)
}
