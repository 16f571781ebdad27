import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { startNode } from '../../src/commands/nodes/servingNode.ts'
import { countBytes } from '../../src/commands/sessions/count.ts'
import { writeUsage } from '../../src/commands/sessions/writeUsage.ts'
import { type Leases, StoreUnavailable } from '../../src/store/store.ts'
import { NODE_FACTS } from '../support/nodeFacts.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import { makeToken, publish, startTestNode, type TestNode, tryToView, view } from '../support/testNode.ts'
import { until } from '../support/until.ts'

const HOUR_MS = 3_600_000
const ROUND_MS = 3000

describe.each(testedStores())('usage of nodes on %s', (engine) => {
  let place: Place
  let clock: ManualClock
  const nodes: TestNode[] = []
  const start = async (hostKey: string, isRunning = true) => {
    const node = await startTestNode({ url: place.url, clock, hostKey, isRunning: () => isRunning })
    nodes.push(node)
    return node
  }
  beforeEach(async () => {
    place = await newPlace(engine)
    clock = new ManualClock()
  })
  afterEach(async () => {
    for (const node of nodes.splice(0)) await node.close().catch(() => undefined)
    await place.remove()
  })

  /** A stream on the air, and viewers of it who received bytes: the first 1, the second 2 and so on. */
  async function watched(at: TestNode, viewers: number, more: (n: number) => object = () => ({})): Promise<string[]> {
    const { token } = await makeToken(at, 'publish', { subscribeRequiresAuth: false })
    await publish(at, { presented: token, streamName: 'show' })
    const ids: string[] = []
    for (let n = 1; n <= viewers; n++) ids.push((await view(at, { streamName: 'show', ...more(n) })).session.id)
    for (const [at_, id] of ids.entries()) countBytes(at.ctx, id, { bytesIn: 0, bytesOut: at_ + 1 })
    return ids
  }
  /** As every node reports it. */
  const bytesOf = async ({ ctx, accountId }: TestNode) => {
    const query = { accountId, fromMs: 0, untilMs: 1e15, groupBy: [], limit: 9 } as const
    return (await ctx.store.read.usage.sum(query))[0]?.bytesOut
  }
  /** Rows that a node has not added to the sums of all nodes. */
  const rowsOf = ({ ctx }: TestNode, node = ctx.sessions.node) =>
    ctx.store
      .transaction(async (tx) => {
        throw new Counted(await tx.usage.foldNode(node, 1000))
      })
      .catch((error: unknown) => (error instanceof Counted ? error.rows : Promise.reject(error)))

  it('a node that has lost its lease takes no viewer until it has registered again', async () => {
    const { ctx, accountId } = await start('a')
    let lose = (): void => undefined
    const leases: Leases = { keep: (_lease, lost) => void (lose = lost ?? lose), release: () => Promise.resolve() }
    const isRunning = (): boolean => true
    await startNode(ctx, {
      hostKey: 'b',
      pid: 1,
      isRunning,
      leaseMs: 300_000,
      leases,
      url: null,
      facts: () => NODE_FACTS,
    })
    lose()
    expect(await tryToView({ ctx, accountId })).toMatchObject({ ok: false, code: 'not_serving' })
    await until(() => ctx.sessions.node !== '')
    // No stream is on the air.
    expect(await tryToView({ ctx, accountId })).toMatchObject({ ok: false, status: 409 })
  })

  it('a report that is read while a node leaves keeps none of its bytes from being written', async () => {
    const at = await start('a')
    await watched(at, 5)
    const { sessions } = at.ctx
    const { node } = sessions
    sessions.node = ''
    await Promise.all([
      writeUsage(at.ctx, Number.POSITIVE_INFINITY),
      writeUsage(at.ctx, Number.POSITIVE_INFINITY, node),
    ])
    sessions.node = node
    expect(await bytesOf(at)).toBe(15)
  })

  it('viewers of a stream share one row, and their ends add nothing to it', async () => {
    const at = await start('a')
    const ids = await watched(at, 5)
    await at.node.count(ROUND_MS)
    expect([await bytesOf(at), await rowsOf(at)]).toEqual([15, 1])
    for (const id of ids) await closeSession(at.ctx, id, 'left')
    expect([await bytesOf(at), await rowsOf(at)]).toEqual([15, 1])
  })

  it('a row is added to the sums when its sessions are over, and again when they come back', async () => {
    const at = await start('a')
    const [id = ''] = await watched(at, 1)
    await closeSession(at.ctx, id, 'left')
    // It is closed and written in one round, and added in the next.
    for (const rows of [1, 0]) {
      await at.node.count(ROUND_MS)
      expect([await bytesOf(at), await rowsOf(at)]).toEqual([1, rows])
    }
    const { session } = await view(at, { streamName: 'show' })
    countBytes(at.ctx, session.id, { bytesIn: 0, bytesOut: 100 })
    await at.node.count(ROUND_MS)
    expect([await bytesOf(at), await rowsOf(at)]).toEqual([101, 1])
  })

  it('a row is added to the sums when its hour is over', async () => {
    const at = await start('a')
    const [id = ''] = await watched(at, 1)
    await at.node.count(ROUND_MS)
    clock.advance(HOUR_MS)
    countBytes(at.ctx, id, { bytesIn: 0, bytesOut: 11 })
    await at.node.count(ROUND_MS)
    await at.node.count(ROUND_MS)
    expect([await bytesOf(at), await rowsOf(at)]).toEqual([11, 1])
  })

  it('a crash loses what was not written, and the node that gives it up adds the rest once', async () => {
    const at = await start('a')
    const [id = ''] = await watched(at, 3)
    await at.node.count()
    countBytes(at.ctx, id, { bytesIn: 0, bytesOut: 1000 })
    const gone = at.ctx.sessions.node
    const other = await start('b')
    expect([await bytesOf(other), await rowsOf(other, gone)]).toEqual([6, 1])
    await at.crash()
    const again = await start('a', false)
    expect([await bytesOf(again), await rowsOf(again, gone)]).toEqual([6, 0])
    await other.node.sweep()
    expect(await bytesOf(other)).toBe(6)
  })

  it('a node that was given up and wakes brings no row back, and counts under its next id', async () => {
    const at = await start('a')
    const [id = ''] = await watched(at, 3)
    await at.node.count()
    const gone = at.ctx.sessions.node
    const other = await start('a', false)
    expect([await bytesOf(other), await rowsOf(other, gone)]).toEqual([6, 0])
    countBytes(at.ctx, id, { bytesIn: 0, bytesOut: 1000 })
    await at.node.count()
    await closeSession(at.ctx, id, 'left')
    await at.node.count(ROUND_MS)
    await at.node.count(ROUND_MS)
    expect([await bytesOf(other), await rowsOf(other, gone)]).toEqual([6, 0])
  })

  it('a write or an addition whose answer is lost is repeated, and counts once', async () => {
    const at = await start('a')
    const [id = ''] = await watched(at, 2)
    const { store } = at.ctx
    const answering = store.transaction.bind(store)
    const isLost = { next: true }
    store.transaction = async (work) => {
      const answer = await answering(work)
      isLost.next = !isLost.next
      if (isLost.next) throw new StoreUnavailable('the connection was lost after the commit')
      return answer
    }
    await closeSession(at.ctx, id, 'left')
    for (let round = 0; round < 12; round++) await at.node.count(ROUND_MS).catch(() => undefined)
    store.transaction = answering
    expect([await bytesOf(at), await rowsOf(at)]).toEqual([3, 1])
  })

  it('a stop leaves all bytes in the sums and no row of the node', async () => {
    const [at, other] = [await start('a'), await start('b')]
    await watched(at, 4, (n) => ({ country: `C${n}` }))
    const gone = at.ctx.sessions.node
    await at.node.stop()
    expect([await bytesOf(other), await rowsOf(other, gone)]).toEqual([10, 0])
  })

  it('rounds write the totals of many viewers in turn, and those of publishers each time', async () => {
    const at = await start('a')
    const ids = await watched(at, 90)
    const publisher = at.ctx.sessions.all().find(({ session }) => session.action === 'publish')?.session.id ?? ''
    countBytes(at.ctx, publisher, { bytesIn: 7, bytesOut: 0 })
    const written = async () => {
      const rows = await Promise.all([publisher, ...ids].map((id) => at.ctx.store.read.sessions.get(id)))
      return rows.filter((row) => row !== undefined && row.bytesIn + row.bytesOut > 0).length
    }
    await at.node.count(1000)
    expect(await written()).toBe(21)
    countBytes(at.ctx, publisher, { bytesIn: 8, bytesOut: 0 })
    await at.node.count(1000)
    expect(await written()).toBe(41)
    expect(await at.ctx.store.read.sessions.get(publisher)).toMatchObject({ bytesIn: 8 })
    // Its own node lists them as of now, though the store has older ones.
    const listed = (await at.call('GET', '/api/sessions?limit=100')).json.data as { bytesOut: number }[]
    expect(listed.reduce((sum, { bytesOut }) => sum + bytesOut, 0)).toBe((90 * 91) / 2)
    expect(await written()).toBe(41)
  })
})

class Counted extends Error {
  readonly rows: number
  constructor(rows: number) {
    super('not to be committed')
    this.rows = rows
  }
}
