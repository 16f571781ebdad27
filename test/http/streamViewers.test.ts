import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { countBytes } from '../../src/commands/sessions/count.ts'
import { writeLastReadings } from '../../src/commands/streams/lastReadings.ts'
import type { Session } from '../../src/core/sessions/types.ts'
import { crowd } from '../support/crowd.ts'
import { type Connection, makeToken, publish, startTestNode, type TestNode, view } from '../support/testNode.ts'

let clock: ManualClock
/** Has the feed. */
let at: TestNode
let other: TestNode
let publisher: Connection
beforeEach(async () => {
  clock = new ManualClock()
  at = await startTestNode({ clock })
  other = await startTestNode({ url: at.url, clock })
  const { token } = await makeToken(at, 'publish')
  publisher = await publish(at, { presented: token })
  await other.node.check()
})
afterEach(async () => {
  await other.close()
  await at.close()
})

const live = async (node: TestNode) => (await node.call('GET', '/api/streams/live')).json.data[0]
const broadcast = async () => (await at.call('GET', '/api/broadcasts')).json.data[0]

/** Both nodes look, and write what has changed: the one without the feed first. */
async function measure(): Promise<void> {
  clock.advance(2000)
  for (const { ctx } of [other, at]) ctx.streamMeter.sample()
  for (const { ctx } of [other, at]) await ctx.streamMeter.write(ctx.store)
}

const sent = ({ ctx }: TestNode, { id }: Session, bytesOut: number) => countBytes(ctx, id, { bytesIn: 0, bytesOut })
const leave = async ({ ctx }: TestNode, sessions: readonly Session[]) => {
  for (const { id } of sessions) await closeSession(ctx, id, 'left')
}

describe('viewers at a node without the feed', () => {
  it('count at every node, also in the most at once and in the broadcast that is over', async () => {
    const there = await crowd(other.ctx, at.accountId, 'show', 3)
    const here = await view(at, { protocol: 'hls' })
    await measure()
    for (const node of [at, other])
      expect(await live(node)).toMatchObject({ viewers: 4, viewersByProtocol: { whep: 3, hls: 1 }, mostViewers: 4 })
    for (const session of there) sent(other, session, 1_000_000)
    sent(at, here.session, 500_000)
    await measure()
    for (const node of [at, other]) expect((await live(node)).bitrateOut).toBe(14_000_000)
    await leave(other, there)
    await measure()
    for (const node of [at, other]) expect(await live(node)).toMatchObject({ viewers: 1, mostViewers: 4 })
    await closeSession(at.ctx, publisher.session.id, 'left')
    await measure()
    expect(await broadcast()).toMatchObject({ mostViewers: 4, bytesOut: 3_500_000 })
  })

  it('count here at once, as with one node', async () => {
    const there = await crowd(other.ctx, at.accountId, 'show', 2)
    expect((await live(other)).viewers).toBe(2)
    expect((await live(at)).viewers).toBe(0)
    await leave(other, there)
    expect((await live(other)).viewers).toBe(0)
  })

  it('count with all of their bytes, also those who came and left between two looks or at the end of the broadcast', async () => {
    const [early] = await crowd(other.ctx, at.accountId, 'show', 1)
    sent(other, early!, 700)
    await leave(other, [early!])
    await measure()
    const [late] = await crowd(other.ctx, at.accountId, 'show', 1)
    sent(other, late!, 20)
    await measure()
    sent(other, late!, 50)
    await closeSession(at.ctx, publisher.session.id, 'left')
    await other.node.check()
    await measure()
    // No broadcast is on the air.
    sent(other, late!, 1000)
    await measure()
    expect(await broadcast()).toMatchObject({ bytesOut: 750 })
  })

  it('have the bytes of their broadcast written when their node stops', async () => {
    const [viewer] = await crowd(other.ctx, at.accountId, 'show', 1)
    sent(other, viewer!, 300)
    await measure()
    sent(other, viewer!, 800)
    await other.node.stop()
    await writeLastReadings(other.ctx)
    expect((await live(at)).viewers).toBe(0)
    await closeSession(at.ctx, publisher.session.id, 'left')
    await at.ctx.streamMeter.write(at.ctx.store)
    expect(await broadcast()).toMatchObject({ bytesOut: 800 })
  })

  it('are gone with a node that was given up, and are written again when it serves under another id', async () => {
    const { ctx } = other
    const before = ctx.sessions.node
    await crowd(ctx, at.accountId, 'show', 2)
    await measure()
    await ctx.store.transaction((tx) => tx.nodes.delete(before))
    expect((await live(at)).viewers).toBe(0)
    await crowd(ctx, at.accountId, 'show', 1)
    await measure()
    expect((await live(at)).viewers).toBe(0)
    ctx.sessions.node = `${before}x`
    await ctx.store.transaction((tx) => tx.nodes.insert({ id: `${before}x`, hostKey: 'o', pid: 1, url: null }, 60_000))
    await measure()
    expect((await live(at)).viewers).toBe(3)
  })
})

describe('the row of a stream at a node', () => {
  const rows = async () =>
    (await at.ctx.store.read.streamNodes.sum({ accountId: at.accountId, from: 'show', to: 'show', except: '' })).size

  it('is written when it has changed, and deleted when the node serves the stream no more', async () => {
    expect(await rows()).toBe(0)
    const there = await crowd(other.ctx, at.accountId, 'show', 1)
    await measure()
    expect(await rows()).toBe(1)
    const writes = async () => {
      const { store } = other.ctx
      let count = 0
      const transaction: typeof store.transaction = (work) => ((count += 1), store.transaction(work))
      other.ctx.streamMeter.sample()
      await other.ctx.streamMeter.write({ ...store, transaction })
      return count
    }
    expect(await writes()).toBe(0)
    await leave(other, there)
    expect([await writes(), await writes(), await rows()]).toEqual([1, 0, 0])
  })
})
