import type { Leases } from '../../src/store/store.ts'

/** Leases last as long as they were taken for: for tests that do without the thread, or let a node seem dead. */
export const unrenewed: Leases = { keep: () => undefined, release: () => Promise.resolve() }

/** No clock of these tests jumps. */
export const evenTime = { isEven: () => Promise.resolve(true) }
