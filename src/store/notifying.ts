import type { Store, Tx } from './store.ts'

/**
 * The same store, that tells after each commit whether there is something new to deliver, so that no command has to
 * remember to. @param announce called when an event was written or a redelivery was asked for; must not throw
 */
export function notifyingStore(store: Store, announce: () => void): Store {
  return {
    async transaction(work) {
      let isNews = false
      const done = await store.transaction((tx) => {
        // A transaction may be run again; what counts is the run that is committed.
        isNews = false
        return work(listening(tx, () => (isNews = true)))
      })
      if (isNews) announce()
      return done
    },
    read: store.read,
    watch: (listener) => store.watch(listener),
    changedRemotely: () => store.changedRemotely(),
    changesSince: (cursor) => store.changesSince(cursor),
    diskSpace: () => store.diskSpace(),
    ping: () => store.ping(),
    time: () => store.time(),
    connections: () => store.connections(),
    close: () => store.close(),
  }
}

function listening(tx: Tx, heard: () => void): Tx {
  return {
    ...tx,
    outbox: {
      ...tx.outbox,
      append: (event) => {
        heard()
        return tx.outbox.append(event)
      },
    },
    deliveries: {
      ...tx.deliveries,
      redeliver: (input) => {
        heard()
        return tx.deliveries.redeliver(input)
      },
    },
  }
}
