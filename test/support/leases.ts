import type { Leases } from '../../src/store/store.ts'

/** Leases without renewals: for tests that need no thread, or that let a node look dead. */
export const unrenewed: Leases = { keep: () => undefined, release: () => Promise.resolve() }

/** No clock in these tests jumps. */
export const evenTime = { isEven: () => Promise.resolve(true), interrupted: () => undefined }
