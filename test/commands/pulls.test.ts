import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  claimPulls,
  followPulls,
  pullsConcerning,
  releasePulls,
  writePullState,
} from '../../src/commands/pulls/claimPulls.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { updatePull } from '../../src/commands/pulls/pulls.ts'
import type { PullState } from '../../src/core/pulls/types.ts'
import { planMoves } from '../../src/core/nodes/drain.ts'
import type { Tx } from '../../src/store/store.ts'
import { draining } from '../support/draining.ts'
import { waitingStore } from '../support/passingStore.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import { makeToken, publish, startTestNode, type TestNode } from '../support/testNode.ts'

describe.each(testedStores())('pulls of two nodes on %s', (engine) => {
  let place: Place
  let one: TestNode
  let other: TestNode
  let ids: number[]
  beforeAll(async () => {
    place = await newPlace(engine)
    one = await startTestNode({ url: place.url })
    other = await startTestNode({ url: place.url })
    const { id: tokenId } = await makeToken(one, 'publish')
    const add = (streamName: string, more = {}) =>
      one.call('POST', '/api/pulls', { tokenId, streamName, url: 'rtsp://camera.example.com/', ...more })
    const made = [await add('a'), await add('b'), await add('c'), await add('d', { enabled: false })]
    ids = made.map(({ json }) => json.data.id)
  })
  afterAll(async () => {
    await one.close()
    await other.close()
    await place.remove()
  })

  const claims = async ({ ctx }: TestNode) => (await followPulls(ctx)).map(({ id }) => id)
  const statusOf = async (id = 0) => (await other.call('GET', `/api/pulls/${id}`)).json.data.status

  it('are shared among them, and each runs at one', async () => {
    const [a, b, c] = ids
    expect(await statusOf(a)).toBe('connecting')
    expect(await claims(one)).toEqual([a, b])
    expect(await claims(other)).toEqual([c])
    expect(await claims(one)).toEqual([a, b])
  })

  it('show their state at every node, as long as their node is there', async () => {
    const state = { status: 'live', sinceMs: 7, retryAtMs: null, problem: null } as const
    await writePullState(one.ctx, ids[0] ?? 0, one.ctx.sessions.node, state)
    expect(await statusOf(ids[0])).toBe('live')
    expect(await statusOf(ids[3])).toBe('off')
  })

  it('tell at every node what was wrong last, also once that is over', async () => {
    const [id = 0] = ids
    const write = (state: PullState) => writePullState(one.ctx, id, one.ctx.sessions.node, state)
    const shown = async () => (await other.call('GET', `/api/pulls/${id}`)).json.data
    expect(await shown()).not.toHaveProperty('lastProblem')
    const lost = { status: 'waiting', retryAtMs: 9, problem: { message: 'The source refused the login' } } as const
    await write({ ...lost, sinceMs: 1_750_000_000_000 })
    await write({ status: 'live', sinceMs: 1_750_000_009_000, retryAtMs: null, problem: null })
    const last = { lastProblem: 'The source refused the login', lastProblemOn: '2025-06-15T15:06:40.000Z' }
    expect(await shown()).toMatchObject({ status: 'live', ...last })
    expect(await shown()).not.toHaveProperty('problem')
  })

  it('stay at a node that drains while they are on the air, and run elsewhere otherwise', async () => {
    const [a, b, c] = ids
    const { token } = await makeToken(one, 'publish')
    const { session } = await publish(one, { protocol: 'pull', presented: token, streamName: 'a' })
    one.ctx.sessions.drain = draining({ plan: planMoves({ publishers: [], hasHlsViewers: false }, 1, () => 0) })
    expect(await claims(one)).toEqual([a])
    expect(await claims(other)).toEqual([b, c])
    await closeSession(one.ctx, session.id, 'moved')
    expect(await claims(one)).toEqual([])
    expect(await claims(other)).toEqual([a, b, c])
    one.ctx.sessions.drain = null
    await releasePulls(other.ctx, other.ctx.sessions.node, [a ?? 0, b ?? 0])
    // Each time its share of those that are free.
    expect([await claims(one), await claims(one)]).toEqual([[a], [a, b]])
  })

  it('keep what another edit has changed meanwhile', async () => {
    const { ctx, accountId } = one
    const actor = { kind: 'secret', id: 1, accountId, address: null, requestId: null } as const
    const [id = 0] = ids
    const otherEdit = async (tx: Tx) => {
      const pull = await tx.pulls.lock(accountId, id)
      if (pull) await tx.pulls.replace({ ...pull, label: 'Roof' })
    }
    const waiting = { ...ctx, store: waitingStore(ctx.store, 'tokens', otherEdit) }
    const edited = await updatePull(waiting, actor, id, { streamName: 'b' })
    expect(edited).toMatchObject({ ok: true, value: { label: 'Roof', streamName: 'b' } })
  })

  it('run at the other node when theirs releases them, or is gone', async () => {
    const [a, b, c] = ids
    await releasePulls(other.ctx, other.ctx.sessions.node, [c ?? 0])
    expect(await claims(one)).toEqual([a, b, c])
    const gone = one.ctx.sessions.node
    await one.node.stop()
    expect(await statusOf(a)).toBe('connecting')
    expect(await claims(other)).toEqual([a, b, c])
    expect(await claimPulls(other.ctx, gone, await pullsConcerning(other.ctx, gone))).toEqual([])
  })
})
