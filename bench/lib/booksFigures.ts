import { LEASE_MAX_MS } from '../../src/base/time.ts'
import type { StreamRef } from '../../src/core/streams/streamId.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import type { StreamViewing } from '../../src/core/streams/reading.ts'
import { openFeed, quiet } from '../../test/conformance/store.samples.ts'
import { report } from './report.ts'

const NODES = 100
const STREAMS = 10_000
/** How many nodes have viewers of a stream. */
const NODES_A_STREAM = 10
/** How often a node writes its rows that changed, and reads those of its streams at other nodes. */
const LOOK_MS = 5000
const LOOKS = 20
const AT_ONCE = 500
const nodeId = (n: number): string => `node${n % NODES}`

/**
 * What the figures of streams cost PostgreSQL in a large cluster, if every row changes at each look. `processor` is the
 * processor time that PostgreSQL has used, milliseconds.
 */
export async function measureFigures(url: string, processor: () => Promise<number>): Promise<void> {
  const store = await openStore({ url, log: quiet })
  const streams = await fill(store)
  const nodes = Array.from({ length: LOOKS }, (_, n) => ({ id: nodeId(n), streams: viewedAt(streams, n) }))
  const writeMs = await eachMs(processor, nodes, ({ id, streams: own }) =>
    store.transaction((tx) => tx.streamNodes.put(id, own.map(grown))),
  )
  const readMs = await eachMs(processor, nodes, ({ id }) => store.read.streamNodes.remoteViewers(id))
  await store.close()
  const rows = (STREAMS * NODES_A_STREAM) / NODES
  report({
    what: `cores of PostgreSQL for the figures of ${STREAMS} streams at ${NODES} nodes`,
    ratio: (NODES * (writeMs + readMs)) / LOOK_MS,
    target: 'none',
    met: true,
    detail: `a look writes ${rows} rows in ${writeMs.toFixed(1)} ms of processor, all of which changed, and reads in ${readMs.toFixed(1)} ms`,
  })
}

type Row = StreamRef & StreamViewing

async function fill(store: Store): Promise<StreamRef[]> {
  const [account] = await store.read.accounts.list()
  const streams = Array.from({ length: STREAMS }, (_, n) => ({
    accountId: account?.id ?? '',
    streamName: `stream${n}`,
  }))
  for (let n = 0; n < NODES; n++)
    await store.transaction((tx) =>
      tx.nodes.insert({ id: nodeId(n), hostKey: nodeId(n), pid: 1, url: null }, LEASE_MAX_MS),
    )
  for (let at = 0; at < STREAMS; at += AT_ONCE)
    await store.transaction(async (tx) => {
      for (const [n, stream] of streams.slice(at, at + AT_ONCE).entries())
        await tx.feeds.insert(openFeed({ ...stream, node: nodeId(at + n) }))
    })
  for (let n = 0; n < NODES; n++)
    await store.transaction((tx) => tx.streamNodes.put(nodeId(n), viewedAt(streams, n).map(grown)))
  return streams
}

/** The streams with viewers at a node. */
const viewedAt = (streams: readonly StreamRef[], node: number): StreamRef[] =>
  streams.filter((_, n) => (node - n + STREAMS) % NODES < NODES_A_STREAM)

let grownTo = 0

const grown = (stream: StreamRef): Row => ({ ...stream, whep: (grownTo += 1), hls: 1, bitrateOut: 2_500_000 })

/** Processor time of PostgreSQL for each node, milliseconds. */
async function eachMs<T>(
  processor: () => Promise<number>,
  nodes: readonly T[],
  work: (node: T) => Promise<unknown>,
): Promise<number> {
  const before = await processor()
  for (const node of nodes) await work(node)
  return ((await processor()) - before) / nodes.length
}
