import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { admitPublisher } from '../../src/commands/sessions/admit.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { endExpired, recheckAll } from '../../src/commands/sessions/revoke.ts'
import { signSubscribeToken } from '../../src/sign.ts'
import { passingStore } from '../support/passingStore.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import {
  attemptOf,
  type Connection,
  eventsOf,
  makeToken,
  publish,
  startTestNode,
  type TestNode,
  tryToView,
  view,
} from '../support/testNode.ts'
import { until } from '../support/until.ts'

const cutsOf = (connections: readonly Connection[]) => connections.flatMap(({ cuts }) => cuts)

/** True if this token has no session, in memory and in the store. */
const isOver = ({ ctx }: TestNode, tokenId: number) =>
  ctx.sessions.ofToken(tokenId).length === 0 && ctx.sessions.leaving.size === 0

describe.each(testedStores())('sessions of a token with endAtExpiry on %s', (engine) => {
  const clock = new ManualClock(Date.now())
  let place: Place
  let at: TestNode
  beforeAll(async () => {
    place = await newPlace(engine)
    at = await startTestNode({ url: place.url, clock })
  })
  afterEach(async () => {
    for (const { session } of at.ctx.sessions.all()) await closeSession(at.ctx, session.id, 'left')
  })
  afterAll(async () => {
    await at.close()
    await place.remove()
  })

  const expiring = (kind: 'publish' | 'subscribe', body: object = {}) =>
    makeToken(at, kind, { expires: 60, endAtExpiry: true, ...body })
  /** Lets time pass, and looks as the job does. */
  const pass = (seconds: number) => {
    clock.advance(seconds * 1000)
    endExpired(at.ctx)
  }
  /** Sets the flag, and waits until it has reached the only session of the token, at this node or another. */
  const setFlag = async (id: number, endAtExpiry: boolean, node = at) => {
    await at.call('PUT', `/api/publish_token/${id}`, { endAtExpiry })
    await until(() => (node.ctx.sessions.ofToken(id)[0]?.endsAtMs !== null) === endAtExpiry)
  }

  it('end when it expires, with their events, and no others do, edited after that or not', async () => {
    const [ending, lasting] = [await expiring('publish'), await expiring('publish', { endAtExpiry: false })]
    const viewers = await expiring('subscribe')
    const ended = await publish(at, { presented: ending.token, streamName: 'ending' })
    const kept = await publish(at, { presented: lasting.token, streamName: 'show' })
    const crowded = await Promise.all(Array.from({ length: 20 }, () => view(at, { presented: viewers.token })))
    const anonymous = await view(at)
    pass(59)
    expect(cutsOf([ended, kept, anonymous, ...crowded])).toEqual([])
    pass(1)
    await until(() => isOver(at, ending.id) && isOver(at, viewers.id))
    expect([ended, ...crowded].map(({ cuts }) => cuts)).toEqual(Array.from({ length: 21 }, () => ['token_expired']))
    await at.call('PUT', `/api/publish_token/${lasting.id}`, { label: 'late' })
    await until(() => kept.cuts.length > 0 || at.ctx.sessions.ofToken(lasting.id)[0]?.tokenVersion === 2)
    expect(cutsOf([kept, anonymous])).toEqual([])
    for (const { session } of [ended, ...crowded]) {
      const stored = await at.ctx.store.read.sessions.get(session.id)
      expect(stored).toMatchObject({ endReason: 'token_expired', endedAtMs: expect.any(Number) })
    }
    const events = (await eventsOf(at)).filter(({ name, data }) => name === 'feeds ended' && data['name'] === 'ending')
    expect(events).toHaveLength(1)
    expect(await tryToView(at, { presented: viewers.token })).toMatchObject({ status: 401, code: 'token_expired' })
  })

  it.each([true, false])('end by the flag as it is now (endSessionsOnUpdate: %s)', async (endSessionsOnUpdate) => {
    const off = await expiring('publish', { endSessionsOnUpdate })
    const on = await expiring('publish', { endSessionsOnUpdate, endAtExpiry: false })
    const late = await expiring('publish', { endSessionsOnUpdate, endAtExpiry: false })
    const spared = await publish(at, { presented: off.token, streamName: 'spared' })
    const taken = await publish(at, { presented: on.token, streamName: 'taken' })
    const overdue = await publish(at, { presented: late.token, streamName: 'overdue' })
    await setFlag(off.id, false)
    await setFlag(on.id, true)
    pass(60)
    await until(() => isOver(at, on.id))
    expect([spared.cuts, taken.cuts, overdue.cuts]).toEqual([[], ['token_expired'], []])
    await setFlag(late.id, true)
    pass(0)
    await until(() => isOver(at, late.id))
    expect([spared.cuts, overdue.cuts]).toEqual([[], ['token_expired']])
  })

  it('end at the exp of their self-signed token, and at the expiry of its parent at the latest', async () => {
    const broadcast = await makeToken(at, 'publish')
    const forever = await makeToken(at, 'subscribe', { endAtExpiry: true })
    const parent = await expiring('subscribe')
    const plain = await makeToken(at, 'subscribe')
    await publish(at, { presented: broadcast.token })
    const child = ({ id: tokenId, token }: { id: number; token: string }, expiresInSeconds: number, claims = {}) => {
      const options = { token, tokenId, streamName: 'show', expiresInSeconds, now: new Date(clock.now()), ...claims }
      return view(at, { presented: signSubscribeToken(options) })
    }
    const [own, early, capped] = [await child(forever, 30), await child(parent, 30), await child(parent, 3600)]
    const [unlimited, ignored] = [await view(at, { presented: forever.token }), await child(plain, 30)]
    // A child ends at its own exp if it says so. It cannot take that back from a parent that does.
    const [claimed, wider] = [
      await child(plain, 30, { endAtExpiry: true }),
      await child(forever, 30, { endAtExpiry: false }),
    ]
    pass(30)
    await until(() => claimed.cuts.length + wider.cuts.length === 2)
    expect([...claimed.cuts, ...wider.cuts]).toEqual(['token_expired', 'token_expired'])
    await until(() => own.cuts.length + early.cuts.length === 2)
    expect([own, early, capped, unlimited, ignored].map(({ cuts }) => cuts)).toEqual([
      ['token_expired'],
      ['token_expired'],
      [],
      [],
      [],
    ])
    pass(30)
    await until(() => isOver(at, parent.id))
    expect([capped, unlimited, ignored].map(({ cuts }) => cuts)).toEqual([['token_expired'], [], []])
    // Nor is it one whom an edit no longer admits.
    await at.call('PUT', `/api/subscribe_token/${plain.id}`, { label: 'late' })
    await until(() => ignored.cuts.length > 0 || at.ctx.sessions.ofToken(plain.id)[0]?.tokenVersion === 2)
    expect(ignored.cuts).toEqual([])
  })

  it('are forgotten with their end, also when the token changes at that moment', async () => {
    const { id, token } = await expiring('publish')
    const { session } = await publish(at, { presented: token })
    const entry = at.ctx.sessions.get(session.id)
    if (!entry) throw new Error('no session')
    expect(at.ctx.sessions.due(Number.POSITIVE_INFINITY)).toEqual([entry])
    await closeSession(at.ctx, session.id, 'left')
    expect(at.ctx.sessions.due(Number.POSITIVE_INFINITY)).toEqual([])
    at.ctx.sessions.setEnd(entry, 1)
    expect(at.ctx.sessions.due(Number.POSITIVE_INFINITY)).toEqual([])
    expect(isOver(at, id)).toBe(true)
  })

  it('end once the clock that was set says so, and not while one that was set back does not', async () => {
    const { id, token } = await expiring('publish')
    const publisher = await publish(at, { presented: token })
    clock.setWall(-3_600_000)
    pass(60)
    expect(publisher.cuts).toEqual([])
    clock.setWall(3_600_000)
    pass(0)
    await until(() => isOver(at, id))
    expect(publisher.cuts).toEqual(['token_expired'])
  })

  it('end at another node, which has only heard of the flag', async () => {
    const other = await startTestNode({ url: place.url, clock, hostKey: 'other' })
    const { id, token } = await expiring('publish', { endAtExpiry: false })
    const publisher = await publish(other, { presented: token })
    await setFlag(id, true, other)
    clock.advance(60_000)
    endExpired(at.ctx)
    expect(publisher.cuts).toEqual([])
    endExpired(other.ctx)
    await until(() => isOver(other, id))
    expect(publisher.cuts).toEqual(['token_expired'])
    await other.close()
  })

  it('has its end on record when it expires while its row is written', async () => {
    const { token } = await expiring('publish')
    let id = ''
    const store = {
      ...passingStore(at.ctx.store),
      transaction: (async (work) => {
        const [entry] = at.ctx.sessions.all()
        if (entry !== undefined && id === '') {
          id = entry.session.id
          pass(61)
          await entry.ending?.done
        }
        return at.ctx.store.transaction(work)
      }) satisfies typeof at.ctx.store.transaction,
    }
    const cut = async () => closeSession(at.ctx, id, 'left')
    const answer = await admitPublisher({ ...at.ctx, store }, attemptOf({ presented: token }), { sourceId: null, cut })
    expect(answer.ok).toBe(false)
    const stored = await at.ctx.store.read.sessions.get(id)
    expect(stored).toMatchObject({ endReason: 'token_expired', endedAtMs: expect.any(Number) })
  })
})

it('a token that could not be checked kept the sessions of those after it open, although they were deleted', async () => {
  const at = await startTestNode({})
  try {
    const tokens = [await makeToken(at, 'subscribe'), await makeToken(at, 'subscribe')]
    const publisher = await publish(at, { presented: (await makeToken(at, 'publish')).token })
    const [unchecked, deleted] = await Promise.all(tokens.map(({ token }) => view(at, { presented: token })))
    const tokenById = at.ctx.cache.tokenById.bind(at.ctx.cache)
    const looks = vi.spyOn(at.ctx.cache, 'tokenById').mockImplementation(async (id) => {
      if (id === tokens[0]?.id) throw new Error('it is broken')
      return id === tokens[1]?.id ? undefined : tokenById(id)
    })
    expect(await recheckAll(at.ctx)).toBe(false)
    await until(() => deleted?.cuts.length === 1)
    expect([deleted?.cuts, unchecked?.cuts, publisher.cuts]).toEqual([['token_deleted'], [], []])
    looks.mockRestore()
  } finally {
    await at.close()
  }
})
