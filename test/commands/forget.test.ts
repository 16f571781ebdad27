import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cliActor } from '../../src/commands/context.ts'
import { forgetViewer } from '../../src/commands/viewers/forget.ts'
import { run } from '../cli/fakeHost.ts'
import { accessRow, addUsage, ending, insert, newAccount, newSession, nodeUsage } from '../conformance/store.samples.ts'
import { type RunningApp, runApp } from '../support/app.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'

const VIEWER = '203.0.113.9'
const HOUR_MS = 3_600_000

describe.each(testedStores())('on %s, forgetting a viewer', (engine) => {
  let place: Place
  let app: RunningApp
  const accountId = newAccount()

  beforeAll(async () => {
    place = await newPlace(engine)
    app = await runApp({ flags: { storage: { url: place.url } } })
    await app.app.ctx.store.transaction((tx) => tx.accounts.insert({ id: accountId, name: 'x', createdAtMs: 1 }))
  })
  afterAll(async () => {
    await app.close()
    await place.remove()
  })

  const store = () => app.app.ctx.store
  const forget = async (viewer: Parameters<typeof forgetViewer>[2], isCheck = false) => {
    const done = await forgetViewer(app.app.ctx, cliActor(accountId), viewer, isCheck)
    if (!done.ok) throw new Error(JSON.stringify(done.error))
    return done.value
  }
  /** An ended session, with 100 bytes in its hour. */
  async function watched(id: string, over: Parameters<typeof newSession>[0] = {}): Promise<string> {
    const own = { accountId, streamName: 'show', country: 'NZ', origin: 'https://a.example', jti: 'j' }
    const session = newSession({ ...own, id: `${accountId}${id}`, ...over })
    await store().transaction((tx) => tx.sessions.insert(session, 'n'))
    const end = { ...ending(session.id, HOUR_MS + 1, 'left'), bytesIn: 0, bytesOut: 100 }
    await store().transaction((tx) => tx.sessions.end([end]))
    await addUsage(store(), { ...session, hourMs: HOUR_MS, bytesOut: 100 })
    return session.id
  }

  test('by address leaves nothing of it, keeps others and open sessions, and is audited without it', async () => {
    const mine = await watched('a', { address: VIEWER, trackingId: 't' })
    const other = await watched('b', { address: '203.0.113.10' })
    const open = newSession({ accountId, id: `${accountId}c`, address: VIEWER })
    await store().transaction((tx) => tx.sessions.insert(open, 'n'))
    await store().transaction((tx) =>
      tx.accessLog.append([
        accessRow({ accountId, id: `${accountId}1`, address: VIEWER }),
        accessRow({ accountId, id: `${accountId}2`, address: '203.0.113.10' }),
      ]),
    )
    const token = await insert(store(), { accountId, bindIpsOnUsage: 2 })
    for (const address of [VIEWER, '203.0.113.10']) {
      const bind = { tokenId: token.id, version: token.version, address, limit: 2, atMs: 1 }
      await store().transaction((tx) => tx.bindings.bind(bind))
    }
    const found = { sessions: 2, accessLog: 1, bindings: 1, usage: 0 }
    expect(await forget({ address: VIEWER }, true)).toEqual({ found, left: found })
    expect(await store().read.sessions.get(mine)).toMatchObject({ address: VIEWER })
    const left = { sessions: 1, accessLog: 0, bindings: 0, usage: 0 }
    expect(await forget({ address: VIEWER })).toEqual({ found, left })
    const nothing = { address: '0.0.0.0', origin: null, country: null, trackingId: null, jti: null }
    expect(await store().read.sessions.get(mine)).toMatchObject({ ...nothing, bytesOut: 100 })
    expect(await store().read.sessions.get(other)).toMatchObject({ address: '203.0.113.10', country: 'NZ' })
    const bound = (await store().read.bindings.list(token.id)).map(({ address }) => address)
    expect(bound).toEqual(['forgotten-1', '203.0.113.10'])
    const rows = await store().read.audit.recent(accountId, 10)
    expect(rows[0]).toMatchObject({ action: 'viewer.forget', subject: 'address' })
    expect(JSON.stringify(rows)).not.toContain(VIEWER)
  })

  test('by tracking id keeps the bytes without it, in the same hour', async () => {
    await watched('d', { trackingId: 'customer-17' })
    await watched('e')
    await watched('f', { trackingId: 'customer-18' })
    const served = {
      distributionId: `${accountId}d`,
      slotMs: 0,
      country: 'NZ',
      accountId,
      channelId: 'ch',
      viewedMs: 5,
    }
    const of = (trackingId: string) => ({ ...served, trackingId, bytesOut: 7, bytesFromCaches: 2 })
    await store().transaction((tx) => tx.served.add([of('customer-17'), of('')]))
    expect((await forget({ trackingId: 'customer-17' })).found).toMatchObject({ sessions: 1, usage: 2 })
    const slot = { stepMs: HOUR_MS, offsetMs: 0 }
    const all = {
      channelId: 'ch',
      distributionIds: [served.distributionId],
      fromMs: 0,
      untilMs: 1,
      slot,
    }
    expect(await store().read.served.sum({ ...all, groupBy: ['trackingId'], limit: 10 })).toMatchObject([
      { trackingId: '', bytesOut: 14, bytesFromCaches: 4, viewedMs: 10 },
    ])
    expect(await store().read.viewerTraces.count(accountId, 'trackingId', 'customer-17')).toEqual({
      sessions: 0,
      accessLog: 0,
      bindings: 0,
      usage: 0,
    })
    expect(await store().read.viewerTraces.count(accountId, 'trackingId', 'customer-18')).toMatchObject({ usage: 1 })
    const query = { accountId, fromMs: 0, untilMs: 10 * HOUR_MS, groupBy: ['trackingId'], limit: 10 } as const
    const sums = await store().read.usage.sum(query)
    expect(sums.reduce((sum, { bytesOut }) => sum + bytesOut, 0)).toBe(500)
  })

  test('the command says what is left of it: open sessions, and rows that a server has not finished', async () => {
    const trackingId = 'customer-19'
    const open = newSession({ accountId, id: `${accountId}g`, trackingId })
    await store().transaction((tx) => tx.sessions.insert(open, 'n'))
    const node = { id: `${accountId}n`, hostKey: 'n', pid: 1, url: null }
    await store().transaction(async (tx) => {
      await tx.nodes.insert(node, 60_000)
      await tx.usage.put(node.id, [nodeUsage({ accountId, trackingId, hourMs: HOUR_MS, bytesOut: 5 })])
    })
    const openApp = async () => ({ ...app.app, close: async () => undefined })
    const told = () => run(['forget', '--tracking-id', trackingId, '--account', accountId], { openApp })
    expect((await told()).stderr).toBe(
      'Sessions that are open and stay: 1. End them, and run this again five minutes later.\n',
    )
    await store().transaction((tx) => tx.sessions.end([ending(open.id, HOUR_MS + 1, 'left')]))
    expect(await told()).toMatchObject({
      stdout: expect.stringContaining('usage      1'),
      stderr: 'Rows of usage that a server has not finished yet: 1. Run this again in five minutes.\n',
    })
    await store().transaction((tx) => tx.usage.foldNode(node.id, 1))
    expect((await told()).stderr).toBe('')
    expect(await store().read.viewerTraces.count(accountId, 'trackingId', trackingId)).toMatchObject({ usage: 0 })
  })

  test('what is no address is refused', async () => {
    const done = await forgetViewer(app.app.ctx, cliActor(accountId), { address: 'me' }, false)
    expect(done).toMatchObject({
      ok: false,
      error: { data: { errors: { address: ['is not an IPv4 or IPv6 address'] } } },
    })
  })
})
