import { afterAll, beforeAll, expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { timeOfId } from '../../src/base/ids.ts'
import { createAccount } from '../../src/commands/accounts/accounts.ts'
import { countBytes } from '../../src/commands/sessions/count.ts'
import { makeToken, publish, startTestNode, type TestNode, view } from '../support/testNode.ts'

let clock: ManualClock
let at: TestNode
beforeAll(async () => {
  clock = new ManualClock()
  at = await startTestNode({ clock })
})
afterAll(() => at.close())

test('the nodes are listed with their start, last renewal, sessions and bitrates', async () => {
  const silent = await startTestNode({ url: at.url, clock, hostKey: 'other', leaseMs: -1 })
  const { token } = await makeToken(at, 'publish')
  const publisher = await publish(at, { presented: token })
  await view(at)
  const minutes = at.ctx.accountMinutes
  minutes.sample()
  countBytes(at.ctx, publisher.session.id, { bytesIn: 75_000, bytesOut: 0 })
  minutes.sample()
  await minutes.write(at.ctx.store)
  clock.advance(60_000)

  const { status, json } = await at.call('GET', '/api/nodes')
  expect(status).toBe(200)
  const time = expect.stringMatching(/^\d{4}-.*Z$/) as string
  expect(json.data).toEqual({
    database: 'sqlite',
    nodes: [
      {
        id: at.ctx.sessions.node,
        isThis: true,
        version: '9.8.7',
        cores: 4,
        cpuPercent: 12,
        full: [],
        links: [],
        state: 'serving',
        startedOn: new Date(timeOfId(at.ctx.sessions.node)).toISOString(),
        lastSeenOn: time,
        publishers: 1,
        viewers: 1,
        bitrateIn: 10_000,
        bitrateOut: 0,
      },
      {
        id: silent.ctx.sessions.node,
        isThis: false,
        version: '9.8.7',
        cores: 4,
        cpuPercent: 12,
        full: [],
        state: 'silent',
        startedOn: new Date(timeOfId(silent.ctx.sessions.node)).toISOString(),
        lastSeenOn: time,
        publishers: 0,
        viewers: 0,
        bitrateIn: 0,
        bitrateOut: 0,
      },
    ],
  })
  // Host and data directory are nothing for a client.
  expect(JSON.stringify(json)).not.toMatch(/hostKey|other|pid/)
  await silent.close()
})

test('a node drains at a request to any node, once for all accounts, and only where there is one account', async () => {
  const two = await startTestNode({ url: at.url, clock, hostKey: 'two' })
  const { node } = two.ctx.sessions
  const drain = (id: string) => at.call('POST', `/api/nodes/${id}/drain`)
  const stateOf = async (id: string) => {
    const { json } = await at.call('GET', '/api/nodes')
    return json.data.nodes.find((one: { id: string }) => one.id === id).state as string
  }
  expect((await drain('no-node')).status).toBe(404)
  expect(await stateOf(node)).toBe('serving')
  expect(await drain(node)).toMatchObject({ status: 200, json: { data: true } })
  expect([await stateOf(node), await stateOf(at.ctx.sessions.node)]).toEqual(['draining', 'serving'])
  const audited = await at.ctx.store.read.audit.page({ accountId: at.accountId, action: 'node.drain', limit: 10 })
  expect(audited).toMatchObject([{ actor: { kind: 'secret' }, subject: node }])

  await createAccount(at.ctx, 'other account')
  const refused = await drain(at.ctx.sessions.node)
  expect([refused.status, refused.json.data.message]).toEqual([403, expect.stringContaining('sluice node drain')])
  expect(await stateOf(at.ctx.sessions.node)).toBe('serving')
  await two.close()
})
