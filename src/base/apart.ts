interface Apart<T> {
  /** True: the error says nothing of the items. It is thrown. */
  readonly isTransient: (error: unknown) => boolean
  /** Takes an item that fails alone. */
  readonly refuse: (item: T, error: unknown) => void
}

/**
 * Works on items together, and if that fails, on each half of them, and so on: an item that can never be done keeps no
 * other from being done. Of n items it takes 2 log2(n) more attempts to find one that fails.
 * @throws an error that `isTransient` takes for one. Items of the parts before it are done.
 */
export async function workApart<T>(
  items: readonly T[],
  work: (part: readonly T[]) => Promise<void>,
  options: Apart<T>,
): Promise<void> {
  try {
    await work(items)
  } catch (error) {
    if (options.isTransient(error)) throw error
    if (items.length <= 1) return items.forEach((item) => options.refuse(item, error))
    const half = Math.ceil(items.length / 2)
    await workApart(items.slice(0, half), work, options)
    await workApart(items.slice(half), work, options)
  }
}
