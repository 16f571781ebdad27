import type { Store } from '../../src/store/store.ts'

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
