// A server with live sessions that a test kills: opens the store in the first argument, goes live, counts, and prints
// its progress.
import { countBytes } from '../../src/commands/sessions/count.ts'
import { makeToken, publish, startTestNode, view } from './testNode.ts'
import { pace } from './until.ts'

const [, , url = '', hostKey = '', feeds = '3'] = process.argv
const at = await startTestNode({ url, hostKey, leaseMs: 1_000 })
const { token } = await makeToken(at, 'publish')
const sessions: string[] = []
for (let n = 0; n < Number(feeds); n++) {
  sessions.push((await publish(at, { presented: token, streamName: `feed${n}` })).session.id)
  sessions.push((await view(at, { streamName: `feed${n}` })).session.id)
}
// One round after another: each printed line was written to the store, even if writing takes longer than the pause.
for (let bytes = 1000; ; bytes += 1000) {
  for (const id of sessions) countBytes(at.ctx, id, { bytesIn: bytes, bytesOut: bytes })
  await at.node.count()
  process.stdout.write(`${JSON.stringify({ pid: process.pid, sessions, bytes })}\n`)
  await pace(20)
}
