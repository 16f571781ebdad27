// A node that writes events and sends them until it is killed: `node webhookNode.ts <store> <account> <prefix>`.
// Told to go on standard input, so that it can be loaded before its turn. Prints each name when it is committed.
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { emit, Node } from '../support/delivery.ts'

const [url = '', accountId = '', prefix = ''] = process.argv.slice(2)
await once(process.stdin, 'data')
const node = await Node.open(url, { leaseMs: 2000 })
await node.runner.start()
for (let n = 0; n < 60; n += 1) {
  const name = `${prefix}-${n}`
  await emit(node.store, accountId, name)
  node.runner.wake()
  // At once and whole: what was told must not be lost with the process.
  writeSync(1, `${name}\n`)
}
// The runner's own timers keep no process alive.
setInterval(() => node.runner.wake(), 1000)
