import { setTimeout as sleep } from 'node:timers/promises'
import { LEASE_MAX_MS } from '../../src/base/time.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { openFeed, quiet } from '../../test/conformance/store.samples.ts'
import { until } from '../../test/support/until.ts'
import { report } from './report.ts'

const FEEDS = 10_000
const AT_ONCE = 500
const CHANGES_A_SECOND = 33
/** Without changes and with them in turns, since what a wake-up of a machine costs differs from minute to minute. */
const ROUNDS = 3
const WATCHED_MS = 10_000
/** So long changes come before their cost is measured: the first are read at once. */
const BEFORE_MS = 3_000
/** The node that has the feeds. */
const ELSEWHERE = 'elsewhere'

interface WatchedNode {
  ask<T>(what: string, argument?: object): Promise<T>
}

/** What a node pays for feeds that begin and end at another one, beyond what it costs while nothing changes. */
export async function measureFeeds(url: string, node: WatchedNode): Promise<void> {
  const store = await openStore({ url, log: quiet })
  const feeds = await fill(store)
  const knows = (streamName: string) => node.ask<boolean>('knows', { streamName })
  await until(() => knows(`feed${FEEDS - 1}`))
  let [idleMs, busyMs, changes] = [0, 0, 0]
  for (let round = 0; round < ROUNDS; round++) {
    idleMs += await processorMs(node, () => sleep(WATCHED_MS))
    await change(store, feeds, BEFORE_MS)
    busyMs += await processorMs(node, async () => {
      changes += await change(store, feeds, WATCHED_MS)
    })
  }
  const [first, last] = [feeds[0]?.streamName ?? '', feeds.at(-1)?.streamName ?? '']
  await until(async () => (await knows(last)) && (await knows(first)) && !(await knows('feed0')))
  const each = (busyMs - idleMs) / changes
  report({
    what: 'milliseconds of the main thread of a node for a feed that begins or ends elsewhere',
    ratio: each,
    target: 'at most 1',
    met: each <= 1,
    detail: `${FEEDS} feeds, ${changes} changes in ${(ROUNDS * WATCHED_MS) / 1000} s; ${idleMs.toFixed(0)} ms in that time without changes`,
  })
  await store.close()
}

/** The number of the newest feed. */
let begun = FEEDS - 1

interface BenchFeed {
  readonly feedId: string
  readonly accountId: string
  readonly streamName: string
}

async function fill(store: Store): Promise<BenchFeed[]> {
  const [account] = await store.read.accounts.list()
  const accountId = account?.id ?? ''
  await store.transaction((tx) =>
    tx.nodes.insert({ id: ELSEWHERE, hostKey: ELSEWHERE, pid: 1, url: 'http://127.0.0.1:1' }, LEASE_MAX_MS),
  )
  const feeds = Array.from({ length: FEEDS }, (_, n) => feedOf(accountId, n))
  for (let at = 0; at < FEEDS; at += AT_ONCE)
    await store.transaction(async (tx) => {
      for (const feed of feeds.slice(at, at + AT_ONCE)) await tx.feeds.insert(feed)
    })
  await store.transaction((tx) => tx.changes.append({ kind: 'feed', accountId, id: 0, atMs: Date.now() }))
  return feeds
}

const feedOf = (accountId: string, n: number) => openFeed({ accountId, streamName: `feed${n}`, node: ELSEWHERE })

/** The oldest feed ends, a new one begins, and so on. Each is a transaction with its change. Returns how many there were. */
async function change(store: Store, feeds: BenchFeed[], ms: number): Promise<number> {
  const sinceMs = performance.now()
  let changes = 0
  while (performance.now() - sinceMs < ms) {
    const oldest = feeds.shift()
    if (!oldest) break
    const fresh = feedOf(oldest.accountId, (begun += 1))
    feeds.push(fresh)
    await store.transaction(async (tx) => {
      await tx.feeds.end(oldest.feedId, Date.now())
      await note(tx, oldest)
    })
    await pause(sinceMs, (changes += 1))
    await store.transaction(async (tx) => {
      await tx.feeds.insert(fresh)
      await note(tx, fresh)
    })
    await pause(sinceMs, (changes += 1))
  }
  return changes
}

const note = (
  tx: Parameters<Parameters<Store['transaction']>[0]>[0],
  { accountId, streamName }: BenchFeed,
): Promise<void> => tx.changes.append({ kind: 'feed', accountId, id: 0, streamName, atMs: Date.now() })

/** Until the moment of the next change. */
const pause = (sinceMs: number, changes: number): Promise<void> =>
  sleep(Math.max(0, sinceMs + (changes * 1000) / CHANGES_A_SECOND - performance.now()))

/** Processor time of the node's main thread while `work` runs. */
async function processorMs(node: WatchedNode, work: () => Promise<void>): Promise<number> {
  const before = await node.ask<number>('processor')
  await work()
  return (await node.ask<number>('processor')) - before
}
