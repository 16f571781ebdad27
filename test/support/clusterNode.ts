// A node of a cluster that a test stops and continues: `node clusterNode.ts <store>`. It prints
// its events, one JSON object per line, and puts one more stream on the air on a command on standard input.
import { createInterface } from 'node:readline'
import { goLive } from '../../src/commands/sessions/goLive.ts'
import { startJobs } from '../../src/jobs/timers.ts'
import { admit, makeToken, publish, silentMedia, startTestNode, view } from './testNode.ts'

const [, , url = ''] = process.argv
const at = await startTestNode({ url, renewed: true })
const { token } = await makeToken(at, 'publish')
const say = (line: object): unknown => process.stdout.write(`${JSON.stringify(line)}\n`)

const connections = [
  await publish(at, { presented: token, streamName: 'moving' }),
  await view(at, { streamName: 'moving' }),
]
// Admitted, without media so far.
const pending = await admit(at, { presented: token, streamName: 'taken' })
say({ node: at.ctx.sessions.node, sessions: [...connections, pending].map(({ session }) => session.id) })

createInterface({ input: process.stdin }).on('line', () => {
  void goLive(at.ctx, pending.session.id, silentMedia).then(
    (feed) => say({ wentLive: feed !== undefined }),
    (error: unknown) => say({ wentLive: String(error) }),
  )
})

let first = at.ctx.sessions.node
startJobs(at.ctx, [
  { name: 'count', everyMs: 50, run: () => at.node.count() },
  { name: 'reconcile', everyMs: 50, run: () => at.node.reconcile() },
  { name: 'sweep', everyMs: 50, run: () => at.node.sweep() },
  { name: 'report', everyMs: 50, run: report },
])
// The timers of the jobs keep no process alive.
setInterval(() => undefined, 1000)

/** Resolves when it serves again after it was given up. */
async function report(): Promise<void> {
  const { node } = at.ctx.sessions
  if (node === first || node === '') return
  first = node
  await publish(at, { presented: token, streamName: 'again' })
  say({ again: node, cuts: [...connections, pending].map(({ cuts }) => cuts) })
}
