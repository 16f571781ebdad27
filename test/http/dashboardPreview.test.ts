import { afterAll, beforeAll, expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { isSessionOf } from '../../src/commands/access/previewPass.ts'
import { countBytes, writeBytes } from '../../src/commands/sessions/count.ts'
import { endStalePreviews } from '../../src/commands/sessions/previews.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { type Browser, browserOf, callAs } from '../support/dashboard.ts'
import { eventsOf, makeToken, publish, tryToView, view } from '../support/testNode.ts'

let running: RunningApp
let at: { readonly ctx: RunningApp['app']['ctx']; readonly accountId: string }
beforeAll(async () => {
  running = await runApp()
  at = { ctx: running.app.ctx, accountId: running.accountId }
  const { token } = await makeToken(running, 'publish', { subscribeRequiresAuth: true })
  await publish(at, { presented: token })
})
afterAll(() => running.close())

const COOKIE = 'sluice_session='
const DAY_MS = 86_400_000

const passOf = async (browser: Browser, streamName = 'show'): Promise<string> =>
  (await browser.call('POST', '/preview', { streamName })).json.data.pass

const live = async () => (await running.call('GET', '/api/streams/live')).json.data[0]

test.for(['whep', 'hls'] as const)(
  'a preview over %s of a secured stream needs no token, binds nothing, and counts for no customer',
  async (protocol) => {
    const bound = await makeToken(running, 'subscribe', { bindIpsOnUsage: 1 })
    const viewer = await browserOf(running, 'viewer')
    const before = (await eventsOf(at)).length
    const { session } = await view(at, { protocol, presented: await passOf(viewer) })
    expect(session).toMatchObject({ action: 'preview', tokenId: null, trackingId: null })
    countBytes(at.ctx, session.id, { bytesIn: 0, bytesOut: 5_000_000 })
    await writeBytes(at.ctx)
    at.ctx.streamMeter.sample()
    expect(await live()).toMatchObject({ viewers: 0, viewersByProtocol: { whep: 0, hls: 0 }, mostViewers: 0 })
    expect((await running.call('GET', '/api/sessions?action=view')).json.data).toEqual([])
    expect((await running.call('GET', '/api/sessions?action=preview')).json.data).toMatchObject([
      { id: session.id, action: 'preview', bytesOut: 5_000_000 },
    ])
    const hour = {
      fromMs: 0,
      untilMs: Number.MAX_SAFE_INTEGER,
      groupBy: ['streamName'],
      limit: 9,
    } as const
    expect(await at.ctx.store.read.usage.sum({ accountId: at.accountId, ...hour })).toEqual([])
    expect(await at.ctx.store.read.bindings.list(bound.id)).toEqual([])
    expect((await eventsOf(at)).length).toBe(before)
    await at.ctx.store.transaction((tx) => tx.dashboardSessions.deleteOf(viewer.id))
    await endStalePreviews(at.ctx)
    await expect.poll(() => at.ctx.sessions.has(session.id)).toBe(false)
  },
)

test('a pass is for one stream of the account, to view, while its session is open', async () => {
  const browser = await browserOf(running)
  const pass = await passOf(browser)
  const code = async (use: object) => {
    const answer = await tryToView(at, { presented: pass, ...use })
    return answer.ok ? 'admitted' : answer.code
  }
  expect(await code({ streamName: 'other' })).toBe('invalid_token')
  expect(await code({ accountId: 'zzzzzz' })).toBe('invalid_token')
  expect(await code({ presented: `${pass.slice(0, -2)}AA` })).toBe('invalid_token')
  expect(await code({ presented: await passOf(browser, 'silent'), streamName: 'silent' })).toBe('stream_not_published')
  await expect(publish(at, { presented: pass })).rejects.toThrow('invalid_token')
  await browser.call('DELETE', '/session')
  expect(await code({})).toBe('invalid_token')
})

test('a session counts for its own account alone, and until it expires', async () => {
  const { cookie } = await browserOf(running)
  const counts = (accountId: string, atMs: number) =>
    isSessionOf({ store: at.ctx.store, clock: new ManualClock(atMs) }, cookie.slice(COOKIE.length), accountId)
  expect(await counts(at.accountId, Date.now())).toBe(true)
  expect(await counts('zzzzzz', Date.now())).toBe(false)
  expect(await counts(at.accountId, Date.now() + DAY_MS)).toBe(false)
})

test('only a page of the dashboard with a session gets a pass, and the pass does not show the session', async () => {
  const browser = await browserOf(running)
  const { cookie } = browser
  const body = { streamName: 'show' }
  const ask = (sent: string, headers: Record<string, string> = {}) =>
    callAs(running, sent, 'POST', '/preview', body, headers)
  const refused = [
    await ask(''),
    await ask(cookie, { 'x-sluice-dashboard': '' }),
    await ask(cookie, { 'sec-fetch-site': 'cross-site' }),
    await browser.call('POST', '/preview', { streamName: '' }),
    await browser.call('POST', '/preview', { streamName: 'show', sourceId: 'a' }),
    await browser.call('POST', '/preview'),
  ]
  expect(refused.map(({ status }) => status)).toEqual([401, 403, 403, 400, 400, 400])
  const { pass } = (await ask(cookie)).json.data
  const value = cookie.slice(COOKIE.length)
  expect(Buffer.from(pass.slice('preview.'.length), 'base64url').toString('latin1')).not.toContain(value)
})
