import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { admit, type TestNode, makeToken, publish, startTestNode, view } from '../support/testNode.ts'
import { expireLease } from '../support/leases.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import { until } from '../support/until.ts'

const LEASE_MS = 15_000

describe.each(testedStores())('two nodes on %s', (engine) => {
  const clock = new ManualClock()
  let place: Place
  let one: TestNode
  let other: TestNode
  beforeAll(async () => {
    place = await newPlace(engine)
    one = await startTestNode({ url: place.url, clock, leaseMs: LEASE_MS })
    other = await startTestNode({ url: place.url, clock, leaseMs: LEASE_MS })
  })
  afterAll(async () => {
    await one.close()
    await other.close().catch(() => undefined)
    await place.remove()
  })

  const idsOf = async (path: string) => (await one.call('GET', `/api/publish_token/${path}`)).json.data.tokenIds
  const active = (streamName: string) => idsOf(`active?streamId=${one.accountId}/${streamName}`)
  const usable = (streamName: string) => idsOf(`usable?streamId=${one.accountId}/${streamName}`)

  it('list tokens as active while they publish, at either node, and no others', async () => {
    const live = await makeToken(one, 'publish')
    const idle = await makeToken(one, 'publish')
    expect([await active('show'), await idsOf('active/all')]).toEqual([[], []])
    const here = await publish(one, { presented: live.token })
    const there = await publish(other, { presented: live.token, streamName: 'elsewhere' })
    const camera = await publish(other, { presented: idle.token, sourceId: 'camera' })
    // Admitted, without media so far.
    await admit(one, { presented: idle.token, streamName: 'waiting' })
    await view(one)
    expect(await active('show')).toEqual([live.id, idle.id])
    expect(await active('elsewhere')).toEqual([live.id])
    expect(await active('waiting')).toEqual([])
    expect(await idsOf('active/all')).toEqual([live.id, idle.id])
    await closeSession(other.ctx, camera.session.id, 'left')
    expect(await active('show')).toEqual([live.id])
    // A disabled token stays on the air, and so on the list.
    await one.call('PUT', `/api/publish_token/${live.id}`, { isActive: false })
    expect(await active('show')).toEqual([live.id])
    await closeSession(one.ctx, here.session.id, 'left')
    await closeSession(other.ctx, there.session.id, 'left')
    expect(await idsOf('active/all')).toEqual([])
  })

  it('list tokens as usable that could publish a stream, whether or not they do', async () => {
    const exact = await makeToken(one, 'publish', { streams: [{ streamName: 'studio-1' }] })
    const pattern = await makeToken(one, 'publish', { streams: [{ streamName: 'studio-.*', isRegex: true }] })
    const known = await usable('studio-2')
    expect(known).toContain(pattern.id)
    expect(known).not.toContain(exact.id)
    expect(await usable('studio-1')).toEqual([...known, exact.id].sort((a, b) => a - b))
    await one.call('PUT', `/api/publish_token/${pattern.id}`, { isActive: false })
    expect(await usable('studio-1')).not.toContain(pattern.id)
  })

  it('end all sessions of an account at both nodes', async () => {
    const { token } = await makeToken(one, 'publish')
    const connections = [
      await publish(one, { presented: token }),
      await publish(other, { presented: token, streamName: 'elsewhere' }),
      await view(one),
    ]
    const stop = async () => (await one.call('POST', '/api/stream/stop/all')).json.data
    expect(await stop()).toEqual({ stoppingLevel: 'Account' })
    await other.node.reconcile()
    await until(() => connections.every(({ cuts }) => cuts.length > 0))
    expect(connections.map(({ cuts }) => cuts)).toEqual([['stopped'], ['stopped'], ['stopped']])
    await until(async () => (await idsOf('active/all')).length === 0)
    expect(await stop()).toEqual({ stoppingLevel: 'None' })
    const [last] = await one.ctx.store.read.audit.recent(one.accountId, 1)
    expect(last).toMatchObject({ action: 'account.stop', subject: one.accountId })
  })

  it('do not list feeds of a dead node once it was given up', async () => {
    const { id, token } = await makeToken(one, 'publish')
    await publish(other, { presented: token, streamName: 'lost' })
    expect(await active('lost')).toEqual([id])
    const gone = other.ctx.sessions.node
    await other.crash()
    await expireLease(place.url, gone)
    await one.node.sweep()
    expect(await active('lost')).toEqual([])
  })
})
