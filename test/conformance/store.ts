import { afterAll, beforeAll, describe } from 'vitest'
import { notifyingStore } from '../../src/store/notifying.ts'
import type { Store } from '../../src/store/store.ts'
import { acmeSuite } from './store.acme.ts'
import { accessLogSuite } from './store.accessLog.ts'
import { cacheLogsSuite } from './store.cacheLogs.ts'
import { bindingsSuite } from './store.bindings.ts'
import { changesSuite } from './store.changes.ts'
import { channelWebhooksSuite } from './store.channelWebhooks.ts'
import { deletedSuite } from './store.deleted.ts'
import { channelSuite } from './store.channels.ts'
import { runsSuite } from './store.runs.ts'
import { operationsSuite } from './store.operations.ts'
import { peopleSuite } from './store.people.ts'
import { nodesSuite } from './store.nodes.ts'
import { sessionsSuite } from './store.sessions.ts'
import { feedHealthSuite } from './store.feedHealth.ts'
import { restreamSuite } from './store.restream.ts'
import { streamsSuite } from './store.streams.ts'
import { usageSuite } from './store.usage.ts'
import { pullsSuite } from './store.pulls.ts'
import { recordingsSuite } from './store.recordings.ts'
import { tokenListSuite } from './store.tokenList.ts'
import { tokensSuite } from './store.tokens.ts'
import { transactionsSuite } from './store.transactions.ts'
import { usersSuite } from './store.users.ts'
import { viewerSeatsSuite } from './store.viewerSeats.ts'
import { webhooksSuite } from './store.webhooks.ts'

/** One database with any number of stores, as several nodes or processes would have. */
export interface Harness {
  readonly url: string
  open(): Promise<Store>
  /** Closes every store and removes the database. */
  remove(): Promise<void>
}

/** Two stores on one database. Each suite uses accounts of its own. */
export interface Stores {
  readonly url: string
  readonly store: Store
  readonly other: Store
}

/** Tests the contract of `Store` on one database. */
export function storeConformance(name: string, makeHarness: () => Promise<Harness>): void {
  describe(name, () => {
    let harness: Harness
    const stores: { url?: string; store?: Store; other?: Store } = {}
    beforeAll(async () => {
      harness = await makeHarness()
      stores.url = harness.url
      // As the server has it.
      stores.store = notifyingStore(await harness.open(), () => undefined)
      stores.other = await harness.open()
    })
    afterAll(() => harness.remove())

    const opened = stores as Stores
    peopleSuite(opened)
    operationsSuite(opened)
    usersSuite(opened)
    tokensSuite(opened)
    tokenListSuite(opened)
    bindingsSuite(opened)
    viewerSeatsSuite(opened)
    transactionsSuite(opened)
    changesSuite(opened)
    acmeSuite(opened)
    accessLogSuite(opened)
    webhooksSuite(opened)
    deletedSuite(opened)
    nodesSuite(opened)
    sessionsSuite(opened)
    cacheLogsSuite(opened)
    streamsSuite(opened)
    feedHealthSuite(opened)
    restreamSuite(opened)
    usageSuite(opened)
    pullsSuite(opened)
    recordingsSuite(opened)
    channelSuite(opened)
    runsSuite(opened)
    channelWebhooksSuite(opened)
  })
}
