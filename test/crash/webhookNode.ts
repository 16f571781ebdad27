// Nodes that write events and send them until they are killed: `node webhookNode.ts (<store> <account>)…`. Told to go on
// standard input, so that it can be loaded before its turn. Prints which store and what, when it is committed.
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { emit, Node } from '../support/delivery.ts'

const places = process.argv.slice(2)
await once(process.stdin, 'data')
await Promise.all(places.flatMap((url, at) => (at % 2 === 0 ? [write(url, places[at + 1] ?? '', at / 2)] : [])))
// The runners' own timers keep no process alive.
setInterval(() => undefined, 1000)

async function write(url: string, accountId: string, store: number): Promise<void> {
  const node = await Node.open(url, { leaseMs: 2000 })
  await node.runner.start()
  for (let n = 0; n < 60; n += 1) {
    const name = `${accountId}-${n}`
    await emit(node.store, accountId, name)
    node.runner.wake()
    // At once and whole: what was told must not be lost with the process.
    writeSync(1, `${store} ${name}\n`)
  }
}
