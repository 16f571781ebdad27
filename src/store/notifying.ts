import { overriding } from './nouns.ts'
import type { Store, Tx } from './store.ts'

/**
 * Wraps a store to notify after each commit that adds deliveries, so that no command has to.
 * @param notify called after a commit with an event or a redelivery; must not throw
 */
export function notifyingStore(store: Store, notify: () => void): Store {
  return {
    async transaction(work) {
      let hasDeliveries = false
      const done = await store.transaction((tx) => {
        // The store may run a transaction again; only the run that commits counts.
        hasDeliveries = false
        return work(listening(tx, () => (hasDeliveries = true)))
      })
      if (hasDeliveries) notify()
      return done
    },
    read: store.read,
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
  }
}

function listening(tx: Tx, added: () => void): Tx {
  return overriding(tx, {
    get outbox() {
      return overriding(tx.outbox, {
        append: (...events) => {
          if (events.length > 0) added()
          return tx.outbox.append(...events)
        },
      })
    },
    get deliveries() {
      return overriding(tx.deliveries, {
        redeliver: (input) => {
          added()
          return tx.deliveries.redeliver(input)
        },
      })
    },
  })
}
