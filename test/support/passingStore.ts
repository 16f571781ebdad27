import { overriding } from '../../src/store/nouns.ts'
import type { Store, Tx } from '../../src/store/store.ts'

/** A store that passes every call on, for tests that replace some of them. */
export const passingStore = (store: Store): Store => ({
  read: store.read,
  transaction: (work) => store.transaction(work),
  watch: (listener) => store.watch(listener),
  changedRemotely: () => store.changedRemotely(),
  changesSince: (cursor) => store.changesSince(cursor),
  due: (query) => store.due(query),
  diskSpace: () => store.diskSpace(),
  ping: () => store.ping(),
  time: () => store.time(),
  connections: () => store.connections(),
  tableSizes: () => store.tableSizes(),
  checkPages: () => store.checkPages(),
  close: () => store.close(),
})

/**
 * A store whose transactions wait for each lock on one of these rows. `meanwhile` does what another transaction has committed
 * when the wait is over.
 */
export function waitingStore(
  store: Store,
  rows: 'accounts' | 'channels' | 'credentials' | 'secrets' | 'tokens',
  meanwhile: (tx: Tx) => Promise<unknown>,
): Store {
  const waiting = (tx: Tx): Tx => {
    const noun: { lock(...row: unknown[]): Promise<unknown> } = tx[rows]
    const lock = async (...row: unknown[]): Promise<unknown> => {
      await meanwhile(tx)
      return noun.lock(...row)
    }
    return overriding(tx, { [rows]: overriding(noun, { lock }) })
  }
  return { ...passingStore(store), transaction: (work) => store.transaction((tx) => work(waiting(tx))) }
}
