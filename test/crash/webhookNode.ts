// Nodes that write events and send them until they are killed: `node webhookNode.ts (<store> <account>)…`. The account is
// also the id of the node. Starts with a line on standard input, so that it can be loaded before its turn. Prints the
// store and the event after each commit.
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { emit, Node } from '../support/delivery.ts'

const args = process.argv.slice(2)
const places = args.flatMap((url, at) => (at % 2 === 0 ? [{ url, accountId: args[at + 1] ?? '' }] : []))
await once(process.stdin, 'data')
const nodes = await Promise.all(places.map(({ url, accountId }) => Node.open(url, { nodeId: accountId })))
await Promise.all(nodes.map(({ runner }) => runner.start()))
// The runners' own timers keep no process alive.
setInterval(() => undefined, 1000)
// In step, so that a faster store does not take the machine from the other one.
for (let n = 0; n < 60; n += 1) await Promise.all(nodes.map((node, store) => write(node, store, n)))

async function write(node: Node, store: number, n: number): Promise<void> {
  const { accountId = '' } = places[store] ?? {}
  const name = `${accountId}-${n}`
  await emit(node.store, accountId, name)
  node.runner.wake()
  // Synchronous and in one write, so that the line is not lost with the process.
  writeSync(1, `${store} ${name}\n`)
}
