import { createHmac } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { timeOrderedId } from '../../src/base/ids.ts'
import { admitPublisher } from '../../src/commands/sessions/admit.ts'
import { closeSession, endSession } from '../../src/commands/sessions/close.ts'
import { countBytes } from '../../src/commands/sessions/count.ts'
import type { Context } from '../../src/commands/context.ts'
import { goLive } from '../../src/commands/sessions/goLive.ts'
import { startNode } from '../../src/commands/nodes/servingNode.ts'
import { refreshRemoteFeeds } from '../../src/commands/sessions/revoke.ts'
import { SessionRegistry } from '../../src/media/sessionRegistry.ts'
import type { LocatedFeed } from '../../src/store/store.ts'
import { overriding } from '../../src/store/nouns.ts'
import {
  admit,
  attemptOf,
  type Connection,
  type TestNode,
  makeToken,
  publish,
  silentMedia,
  startTestNode,
  tryToView,
  view,
} from '../support/testNode.ts'
import { until } from '../support/until.ts'
import { crowd } from '../support/crowd.ts'
import { evenTime, expireLease, unrenewed } from '../support/leases.ts'
import { NODE_FACTS } from '../support/nodeFacts.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'

const cutsOf = (connections: readonly Connection[]) => connections.flatMap(({ cuts }) => cuts)

describe.each(testedStores())('sessions on %s', (engine) => {
  let place: Place
  let at: TestNode
  beforeAll(async () => {
    place = await newPlace(engine)
    at = await startTestNode({ url: place.url })
  })
  afterEach(() => everybodyLeaves(at))
  afterAll(async () => {
    await at.close()
    await place.remove()
  })

  const remove = (kind: string, id: number) => at.call('DELETE', `/api/${kind}_token/${id}`)
  const update = (kind: string, id: number, body: object) => at.call('PUT', `/api/${kind}_token/${id}`, body)

  it('end with their token: 200 of the deleted one, and none of another', async () => {
    const broadcast = await makeToken(at, 'publish')
    const [kept, taken] = [await makeToken(at, 'subscribe'), await makeToken(at, 'subscribe')]
    const publisher = await publish(at, { presented: broadcast.token })
    const staying = await view(at, { presented: kept.token })
    const leaving = await Promise.all(Array.from({ length: 200 }, () => view(at, { presented: taken.token })))
    await remove('subscribe', taken.id)
    await until(() => isOver(at, taken.id))
    expect(leaving.map(({ cuts }) => cuts)).toEqual(Array.from({ length: 200 }, () => ['token_deleted']))
    expect(cutsOf([publisher, staying])).toEqual([])
    expect(await tryToView(at, { presented: taken.token })).toMatchObject({ status: 401, code: 'invalid_token' })
    const stored = await at.ctx.store.read.sessions.get(leaving[0]?.session.id ?? '')
    expect(stored).toMatchObject({ endReason: 'token_deleted', endedAtMs: expect.any(Number) })
  })

  it('end when the token value is refreshed', async () => {
    const { id, token } = await makeToken(at, 'publish')
    const publisher = await publish(at, { presented: token })
    await update('publish', id, { refreshToken: true })
    await until(() => publisher.cuts.length > 0)
    expect(publisher.cuts).toEqual(['token_refreshed'])
    expect(at.ctx.sessions.feeds.onAir(at.accountId, 'show')).toBeUndefined()
  })

  it('end with an edit that no longer admits them, but not with one that does', async () => {
    const { id, token } = await makeToken(at, 'publish')
    const inside = await publish(at, { presented: token, ip: '192.0.2.1', streamName: 'in' })
    const outside = await publish(at, { presented: token, ip: '198.51.100.1', streamName: 'out' })
    await update('publish', id, { allowedIpAddresses: ['192.0.2.0/24'] })
    await until(() => outside.cuts.length > 0)
    expect([inside.cuts, outside.cuts]).toEqual([[], ['token_edited']])
    await update('publish', id, { allowedCountries: ['NZ'] })
    await until(() => inside.cuts.length > 0)
  })

  it('continue after an edit if the token has endSessionsOnUpdate: false', async () => {
    const { id, token } = await makeToken(at, 'publish', { endSessionsOnUpdate: false })
    const publisher = await publish(at, { presented: token })
    await update('publish', id, { allowedIpAddresses: ['203.0.113.0/24'] })
    // A deletion that is handled after the edit proves that the edit was handled.
    const other = await makeToken(at, 'publish')
    const probe = await publish(at, { presented: other.token, streamName: 'probe' })
    await remove('publish', other.id)
    await until(() => probe.cuts.length > 0)
    expect(publisher.cuts).toEqual([])
    await remove('publish', id)
    await until(() => publisher.cuts.length > 0)
    expect(publisher.cuts).toEqual(['token_deleted'])
  })

  it('continue when their token is disabled, and edited after that', async () => {
    const { id, token } = await makeToken(at, 'publish')
    const publisher = await publish(at, { presented: token })
    await update('publish', id, { isActive: false })
    await update('publish', id, { label: 'late' })
    await until(() => publisher.cuts.length > 0 || at.ctx.sessions.ofToken(id)[0]?.tokenVersion === 3)
    expect(publisher.cuts).toEqual([])
    expect(await admitPublisher(at.ctx, attemptOf({ presented: token }), anyRequest())).toMatchObject({
      code: 'token_disabled',
    })
  })

  it('of a self-signed token end by its jti or its time, and those of siblings continue', async () => {
    const broadcast = await makeToken(at, 'publish')
    const rules = { tracking: { trackingId: 'parent' }, endSessionsOnUpdate: false }
    const { id, token } = await makeToken(at, 'subscribe', rules)
    await publish(at, { presented: broadcast.token })
    const child = (claims: object) => selfSigned(id, token, claims, { customViewerData: 'seat 5' })
    const one = await view(at, { presented: child({ jti: 'one' }) })
    const two = await view(at, { presented: child({ jti: 'two', iat: seconds() - 600 }) })
    const parent = await view(at, { presented: token })
    expect(one.session).toMatchObject({ tokenId: id, jti: 'one', trackingId: 'parent', customViewerData: 'seat 5' })
    await at.call('POST', `/api/subscribe_token/${id}/revoke`, { jti: 'one' })
    await until(() => one.cuts.length > 0)
    expect(cutsOf([two, parent])).toEqual([])
    const issuedBefore = new Date((seconds() - 300) * 1000).toISOString()
    const revoked = await at.call('POST', `/api/subscribe_token/${id}/revoke`, { issuedBefore })
    expect(revoked.status).toBe(200)
    await until(() => two.cuts.length > 0)
    expect([one.cuts, two.cuts, parent.cuts]).toEqual([['token_revoked'], ['token_revoked'], []])
  })

  it('never outlive a token that is deleted during their admission', async () => {
    for (let round = 0; round < 20; round++) {
      const { id, token } = await makeToken(at, 'publish')
      const admitting = Array.from({ length: 5 }, (_, n) =>
        admit(at, { presented: token, streamName: `race${n}` }).catch(() => null),
      )
      // At another step of the admissions each time, and in the end after the first of them.
      for (let step = 0; step < 3 * round; step++) await Promise.resolve()
      if (round === 19) expect(await admitting[0]).not.toBeNull()
      await remove('publish', id)
      const admitted = (await Promise.all(admitting)).filter((one) => one !== null)
      await until(() => admitted.every(({ cuts }) => cuts.length > 0) && isOver(at, id))
      const page = await at.ctx.store.read.sessions.page({ accountId: at.accountId, tokenId: id, limit: 10 })
      expect(page).toEqual([])
    }
  })

  /** Written as by another node whose notification has not arrived. */
  const setActiveRemotely = (id: number, isActive: boolean) =>
    at.ctx.store.transaction(async (tx) => {
      const stored = await tx.tokens.lock(at.accountId, 'publish', id)
      if (stored) await tx.tokens.replace({ ...stored, isActive }, stored)
    })

  it('are decided again if the token in memory is outdated', async () => {
    const { id, token } = await makeToken(at, 'publish')
    const enter = () => admitPublisher(at.ctx, attemptOf({ presented: token }), anyRequest())
    expect(await enter()).toMatchObject({ ok: true })
    await setActiveRemotely(id, false)
    expect(await enter()).toMatchObject({ ok: false, code: 'token_disabled' })
    await setActiveRemotely(id, true)
    at.ctx.cache.forgetToken(id)
    expect(await enter()).toMatchObject({ ok: true })
    await at.ctx.store.transaction((tx) => tx.tokens.delete({ id, accountId: at.accountId, kind: 'publish' }))
    expect(await enter()).toMatchObject({ ok: false, code: 'invalid_token' })
  })

  it('do not begin when their edge, which chose the id, was told to cut it before Sluice decided again', async () => {
    const { id, token } = await makeToken(at, 'publish')
    const { store, sessions, clock, random } = at.ctx
    const sessionId = timeOrderedId(clock.now(), random)
    const written = vi.spyOn(store, 'transaction').mockImplementationOnce(async (work) => {
      written.mockRestore()
      await setActiveRemotely(id, true)
      const entry = sessions.get(sessionId)
      if (entry) await endSession(at.ctx, entry, 'lost')
      return store.transaction(work)
    })
    const request = { ...anyRequest(), sessionId }
    expect(await admitPublisher(at.ctx, attemptOf({ presented: token }), request)).toMatchObject({ ok: false })
    expect(sessions.has(sessionId)).toBe(false)
  })

  it('are refused at the limit of this process', async () => {
    const small = await startTestNode({ url: place.url, max: 1 })
    const { token } = await makeToken(small, 'publish')
    const only = await publish(small, { presented: token })
    const second = () => admitPublisher(small.ctx, attemptOf({ presented: token }), anyRequest())
    expect(await second()).toMatchObject({ ok: false, status: 503, code: 'too_many_sessions' })
    await closeSession(small.ctx, only.session.id, 'left')
    expect(await second()).toMatchObject({ ok: true })
    await small.close()
    expect(await second()).toMatchObject({ ok: false, status: 503, code: 'not_serving' })
  })

  it('are decided before a viewer learns what is on the air', async () => {
    const broadcast = await makeToken(at, 'publish', { subscribeRequiresAuth: true })
    expect(await tryToView(at)).toMatchObject({ status: 401 })
    await publish(at, { presented: broadcast.token })
    expect(await tryToView(at)).toMatchObject({ status: 401, message: 'Unauthorized: Invalid token' })
    const viewer = await makeToken(at, 'subscribe')
    expect(await tryToView(at, { presented: viewer.token, streamName: 'other' })).toMatchObject({
      status: 409,
      code: 'stream_not_published',
      message: 'Stream not being published',
    })
    expect(await tryToView(at, { presented: viewer.token })).toMatchObject({ ok: true, feed: { secured: true } })
  })

  it('bind no address of a viewer whose stream is not on the air', async () => {
    const { id, token: presented } = await makeToken(at, 'subscribe', { bindIpsOnUsage: 1 })
    const bound = async () => (await at.call('GET', `/api/subscribe_token/${id}/bound_ips`)).json.data as unknown[]
    expect(await tryToView(at, { presented })).toMatchObject({ status: 409, code: 'stream_not_published' })
    expect(await bound()).toEqual([])
    await publish(at, { presented: (await makeToken(at, 'publish')).token })
    expect(await tryToView(at, { presented })).toMatchObject({ ok: true })
    expect(await bound()).toHaveLength(1)
  })

  it('are live for the access check while they are on the air', async () => {
    const { token } = await makeToken(at, 'publish')
    const question = { action: 'view', protocol: 'whep', streamName: 'show', ip: '192.0.2.1' }
    const isLive = async () => (await at.call('POST', '/api/access/check', question)).json.data.live as boolean
    expect(await isLive()).toBe(false)
    const { session } = await admit(at, { presented: token })
    expect(await isLive()).toBe(false)
    await goLive(at.ctx, session.id, silentMedia)
    expect(await isLive()).toBe(true)
    await closeSession(at.ctx, session.id, 'left')
    expect(await isLive()).toBe(false)
  })

  it('do not go live after their end, and a second close has no effect', async () => {
    const { token } = await makeToken(at, 'publish')
    const { session } = await admit(at, { presented: token })
    await Promise.all([closeSession(at.ctx, session.id, 'left'), closeSession(at.ctx, session.id, 'lost')])
    expect(await goLive(at.ctx, session.id, silentMedia)).toBeUndefined()
    expect(await at.ctx.store.read.sessions.get(session.id)).toMatchObject({ endReason: 'left' })
  })

  it('are one line in the log when they end, with what one groups by and without their address or token', async () => {
    const { token, id: tokenId } = await makeToken(at, 'publish')
    const { session } = await admit(at, { presented: token })
    const lines = vi.spyOn(at.ctx.sampled.sessions, 'info')
    countBytes(at.ctx, session.id, { bytesIn: 500, bytesOut: 7 })
    await Promise.all([closeSession(at.ctx, session.id, 'left'), closeSession(at.ctx, session.id, 'lost')])
    expect(lines.mock.calls).toEqual([
      [
        {
          node: at.ctx.sessions.node,
          sessionId: session.id,
          action: 'publish',
          protocol: 'whip',
          accountId: at.accountId,
          streamName: 'show',
          sourceId: null,
          tokenId,
          isSelfSigned: false,
          jti: null,
          trackingId: null,
          addressFamily: 4,
          country: null,
          origin: null,
          startedAt: new Date(session.startedAtMs).toISOString(),
          durationMs: expect.any(Number),
          bytesIn: 500,
          bytesOut: 7,
          reason: 'left',
        },
        'a session has ended',
      ],
    ])
    lines.mockRestore()
  })

  it('end 2,500 at a time when their stream is stopped, and their node is notified as often as needed', async () => {
    const { token } = await makeToken(at, 'publish')
    const publisher = await publish(at, { presented: token, streamName: 'crowded' })
    await crowd(at.ctx, at.accountId, 'crowded', 2_500)
    const { cursor } = await at.ctx.store.changesSince(null)
    const stop = () => at.call('POST', '/api/stream/stop', { streamId: `${at.accountId}/crowded` })
    expect((await stop()).json.data).toEqual({ stoppingLevel: 'Stream' })
    const { changes } = await at.ctx.store.changesSince(cursor)
    expect(changes.filter(({ kind }) => kind === 'kick')).toHaveLength(2)
    expect(publisher.cuts).toEqual(['stopped'])
    const stream = { accountId: at.accountId, streamName: 'crowded' }
    expect([await at.ctx.store.read.sessions.count(stream), at.ctx.sessions.size]).toEqual([0, 0])
    const audited = (await at.ctx.store.read.audit.recent(at.accountId, 10)).filter(
      ({ action }) => action === 'stream.stop',
    )
    expect(audited.map(({ before }) => before)).toEqual(['{"sessions":2501}'])
    expect((await stop()).json.data).toEqual({ stoppingLevel: 'None' })
  })

  it('are not delayed by one whose edge does not answer', async () => {
    const { token } = await makeToken(at, 'publish')
    let release = (): void => undefined
    const cut = () => new Promise<void>((resolve) => (release = resolve))
    const stuck = await admitPublisher(at.ctx, attemptOf({ presented: token }), { sourceId: null, cut })
    if (!stuck.ok) throw new Error(stuck.message)
    const other = await publish(at, { presented: token, streamName: 'other' })
    const kick = (id: string) =>
      at.ctx.store.transaction(async (tx) => {
        await tx.sessions.kick({ accountId: at.accountId, id }, 'kicked')
        await tx.changes.append({ kind: 'kick', accountId: at.accountId, id: 0, atMs: 0 })
      })
    await kick(stuck.session.id)
    await until(() => at.ctx.sessions.get(stuck.session.id)?.ending !== null)
    await kick(other.session.id)
    await until(() => other.cuts.length > 0)
    expect(at.ctx.sessions.has(stuck.session.id)).toBe(true)
    release()
    await until(() => !at.ctx.sessions.has(stuck.session.id))
  })

  it('end even if their edge fails to cut them', async () => {
    const { id, token } = await makeToken(at, 'publish')
    const cut = () => Promise.reject(new Error('the socket is gone'))
    const admitted = await admitPublisher(at.ctx, attemptOf({ presented: token }), { sourceId: null, cut })
    await remove('publish', id)
    await until(() => isOver(at, id))
    const stored = admitted.ok ? await at.ctx.store.read.sessions.get(admitted.session.id) : undefined
    expect(stored).toMatchObject({ endReason: 'token_deleted' })
  })
})

describe.each(testedStores('SQLite'))('nodes on one %s file', (engine) => {
  let place: Place
  let at: TestNode
  beforeAll(async () => {
    place = await newPlace(engine)
    at = await startTestNode({ url: place.url })
  })
  afterAll(async () => {
    await at.close()
    await place.remove()
  })

  it('give up no node while the clock that judges leases has just jumped', async () => {
    const other = await startTestNode({ url: place.url })
    await expireLease(place.url, other.ctx.sessions.node)
    const options = {
      hostKey: 'third',
      pid: 1,
      isRunning: () => true,
      leaseMs: 15_000,
      leases: unrenewed,
      url: null,
      facts: () => NODE_FACTS,
    }
    let isEven = false
    const time = { ...evenTime, isEven: (forMs: number) => Promise.resolve(isEven && forMs === options.leaseMs) }
    const third = await startNode({ ...at.ctx, sessions: new SessionRegistry(), time }, options)
    const count = async () => (await at.ctx.store.read.nodes.list()).length
    await third.sweep()
    expect(await count()).toBe(3)
    isEven = true
    await third.sweep()
    expect(await count()).toBe(2)
    await third.stop()
    await other.crash()
  })

  it('detect that they do not know all feeds of the others', async () => {
    const feed = { accountId: at.accountId, streamName: 's', sourceId: null, secured: false, url: null }
    let count = 10_000
    const { read } = at.ctx.store
    const feeds = overriding(read.feeds, {
      remote: () => Promise.resolve(Array.from({ length: count }, () => feed as LocatedFeed)),
    })
    const ctx = { ...at.ctx, store: { ...at.ctx.store, read: overriding(read, { feeds }) } } as unknown as Context
    await refreshRemoteFeeds(ctx)
    expect(ctx.sessions.feeds.knowsAll).toBe(true)
    count += 1
    await refreshRemoteFeeds(ctx)
    expect(ctx.sessions.feeds.knowsAll).toBe(false)
    await refreshRemoteFeeds(at.ctx)
    expect(ctx.sessions.feeds.knowsAll).toBe(true)
  })
})

/** True if this token has no session, in memory and in the store. */
const isOver = ({ ctx }: TestNode, tokenId: number) =>
  ctx.sessions.ofToken(tokenId).length === 0 && ctx.sessions.leaving.size === 0

async function everybodyLeaves({ ctx }: TestNode): Promise<void> {
  for (const { session } of ctx.sessions.all()) await closeSession(ctx, session.id, 'left')
}

const anyRequest = () => ({ sourceId: null, cut: () => Promise.resolve() })
const seconds = () => Math.floor(Date.now() / 1000)

function selfSigned(tokenId: number, value: string, claims: object, more: object = {}): string {
  const part = (object: object) => Buffer.from(JSON.stringify(object)).toString('base64url')
  const streaming = { tokenId, tokenType: 'Subscribe', streamName: 'show', ...more }
  const payload = { iat: seconds(), exp: seconds() + 600, streaming, ...claims }
  const input = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(payload)}`
  return `${input}.${createHmac('sha256', value).update(input).digest('base64url')}`
}
