import { randomBytes } from 'node:crypto'
import { ManualClock, systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { createEgress, type Egress } from '../../src/net/egress.ts'
import { createRunner, type Runner, type RunnerOptions } from '../../src/delivery/runner.ts'
import { headerProfile } from '../../src/delivery/signature.ts'
import { DueLook } from '../../src/store/dueLook.ts'
import { openStore } from '../../src/store/open.ts'
import type { Delivery, Store, StoredWebhook } from '../../src/store/store.ts'
import { newWebhook, quiet } from '../conformance/store.samples.ts'
import { evenTime, unrenewed } from './leases.ts'
import { until } from './until.ts'

/** No key seals the webhooks of these tests: the stored bytes are the secret. */
export const SECRET = Buffer.alloc(32, 7).toString('base64')

/** Nothing renews the leases of these tests: a lease ends when a test says so. */
export const LEASE_MS = 300_000

/** Deliveries need no changes of tokens. */
const noChanges = { position: null, heard: () => Promise.resolve(), unheard: () => undefined }

/** A store, and the runner that sends from it. */
export class Node {
  readonly store: Store
  readonly egress: Egress
  readonly runner: Runner
  readonly #due: DueLook

  constructor(store: Store, egress: Egress, over: Partial<RunnerOptions> = {}) {
    this.store = store
    this.egress = egress
    this.#due = new DueLook({ store, changes: noChanges, clock: over.clock ?? systemClock, log: quiet, node: () => '' })
    this.#due.start()
    this.runner = createRunner({
      store,
      due: this.#due,
      egress,
      clock: systemClock,
      random: systemRandom,
      log: quiet,
      attempts: quiet,
      nodeId: randomBytes(8).toString('hex'),
      profile: headerProfile(),
      userAgent: 'Sluice/test',
      openSecret: (sealed) => Buffer.from(sealed).toString('utf8'),
      leases: unrenewed,
      leaseMs: LEASE_MS,
      time: evenTime,
      ...over,
    })
  }

  static async open(url: string, over: Partial<RunnerOptions> = {}, egress?: Egress): Promise<Node> {
    const store = await openStore({ url, log: quiet })
    // By a clock that stands still, no exchange runs out of time.
    return new Node(store, egress ?? createEgress({ allowPrivateTargets: true, clock: new ManualClock() }), over)
  }

  async close(): Promise<void> {
    await this.runner.stop()
    await this.#due.stop()
    await this.egress.close()
    await this.store.close()
  }
}

export function addWebhook(store: Store, accountId: string, url: string): Promise<StoredWebhook> {
  const secretSealed = Buffer.from(SECRET, 'utf8')
  return store.transaction((tx) => tx.webhooks.insert(newWebhook({ accountId, url, secretSealed })))
}

/** Writes an event as a change would. The name is its subject. */
export async function emit(store: Store, accountId: string, ...names: string[]): Promise<void> {
  await store.transaction(async (tx) => {
    for (const name of names) await tx.outbox.append(viewing(accountId, name))
  })
}

export function viewing(accountId: string, name: string) {
  const data = JSON.stringify({ name, accountId, streamId: `${accountId}/${name}` })
  return { accountId, type: 'viewerConnection', event: 'ViewerAttempt', subject: name, data, createdAtMs: Date.now() }
}

/** The whole log of a webhook, oldest first. */
export async function logOf(store: Store, webhookId: number): Promise<Delivery[]> {
  const rows: Delivery[] = []
  for (let page = await firstPage(store, webhookId); page.length > 0; ) {
    rows.push(...page)
    const after = page.at(-1)?.id ?? ''
    page = await store.read.deliveries.page({ webhookId, after, limit: 1000 })
  }
  return rows.toReversed()
}

const firstPage = (store: Store, webhookId: number) => store.read.deliveries.page({ webhookId, limit: 1000 })

export const isOver = ({ state }: Delivery): boolean => state !== 'pending' && state !== 'started'

/**
 * The log, once the outbox is empty and this number of deliveries has ended. They end about in their order: until the newest
 * has ended there is no need to read the others.
 */
export async function settled(store: Store, webhookId: number, count: number): Promise<Delivery[]> {
  let log: Delivery[] = []
  await until(async () => {
    const [newest] = await store.read.deliveries.page({ webhookId, limit: 1 })
    if (newest === undefined || !isOver(newest)) return false
    log = await logOf(store, webhookId)
    return log.length >= count && log.every(isOver)
  })
  return log
}
