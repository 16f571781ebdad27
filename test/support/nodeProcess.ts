// A server with live sessions, to be killed: opens the store named by the first argument, goes live, counts, and says so.
import { setTimeout } from 'node:timers/promises'
import { countBytes } from '../../src/commands/sessions/count.ts'
import { makeToken, publish, startTestNode, view } from './testNode.ts'

const [, , url = '', place = '', feeds = '3'] = process.argv
const at = await startTestNode({ url, place, leaseMs: 1_000 })
const { token } = await makeToken(at, 'publish')
const sessions: string[] = []
for (let n = 0; n < Number(feeds); n++) {
  sessions.push((await publish(at, { presented: token, streamName: `feed${n}` })).session.id)
  sessions.push((await view(at, { streamName: `feed${n}` })).session.id)
}
// One round after the other: what is said is what was written, also on a machine where writing takes longer than a pause.
for (let bytes = 1000; ; bytes += 1000) {
  for (const id of sessions) countBytes(at.ctx, id, { bytesIn: bytes, bytesOut: bytes })
  await at.node.count()
  process.stdout.write(`${JSON.stringify({ pid: process.pid, sessions, bytes })}\n`)
  await setTimeout(20)
}
