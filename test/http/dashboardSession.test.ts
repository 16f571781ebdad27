import type { FastifyRequest } from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { sha256 } from '../../src/base/crypto.ts'
import { type Address, parseAddress } from '../../src/core/access/address.ts'
import { type Attempt, SignInLimits } from '../../src/edge/http/dashboard/limits.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { browserOf, callAs, cookieOf, makeUser, PASSWORD, signInAs } from '../support/dashboard.ts'

let running: RunningApp
beforeAll(async () => {
  running = await runApp()
})
afterAll(() => running.close())

test('a user signs in, is known by the cookie alone, and signs out', async () => {
  const { id, email } = await makeUser(running, 'admin')
  const signedIn = await callAs(running, '', 'POST', '/session', { email: email.toUpperCase(), password: PASSWORD })
  expect(signedIn.status).toBe(200)
  expect(signedIn.json.data).toMatchObject({
    user: { id, email, role: 'admin' },
    account: { id: running.accountId, name: 'default' },
    hasApiSecret: true,
  })
  const [set, sign] = signedIn.headers.getSetCookie()
  expect(set).toMatch(/^sluice_session=[\w-]{43}; Max-Age=2592000; HttpOnly; SameSite=Strict$/)
  expect(sign).toMatch(/^sluice_browser=[\w-]{54}; Max-Age=15552000; HttpOnly; SameSite=Strict$/)
  const cookie = cookieOf(signedIn)
  const who = await callAs(running, cookie, 'GET', '/session')
  expect(who.json).toEqual(signedIn.json)
  expect(who.headers.get('cache-control')).toBe('no-store')

  const out = await callAs(running, cookie, 'DELETE', '/session')
  expect(out.json).toEqual({ status: 'success', data: true })
  expect(out.headers.get('set-cookie')).toMatch(/^sluice_session=; Max-Age=0; /)
  const after = await callAs(running, cookie, 'GET', '/session')
  expect(after).toMatchObject({
    status: 401,
    json: { data: { message: 'Unauthorized: Your session has ended. Sign in.' } },
  })
})

test('the cookie is Secure when the page came by https', async () => {
  const { email } = await makeUser(running, 'admin')
  const credentials = { email, password: PASSWORD }
  const answer = await callAs(running, '', 'POST', '/session', credentials, { origin: 'https://tv.example.com' })
  expect(answer.headers.get('set-cookie')).toMatch(/; Secure$/)
})

test('the store has only the SHA-256 of a session, and changes carry the name of the user', async () => {
  const browser = await browserOf(running)
  const value = browser.cookie.slice('sluice_session='.length)
  const found = await running.app.ctx.store.read.dashboardSessions.find(sha256(value))
  expect(found?.user.id).toBe(browser.id)
  expect(JSON.stringify(found?.session)).not.toContain(value)
  const made = await browser.call('POST', '/publish_token', { label: 'Mine', streams: [{ streamName: 'mine' }] })
  expect(made.status).toBe(200)
  const [row] = await running.app.ctx.store.read.audit.recent(running.accountId, 1)
  expect(row).toMatchObject({
    actor: { kind: 'user', id: browser.id },
    action: 'publish_token.create',
    address: '127.0.0.1',
  })
})

test('without a session nothing opens, with a made-up, an empty and a doubled cookie neither', async () => {
  const { cookie } = await browserOf(running)
  const made = `sluice_session=${'A'.repeat(43)}`
  for (const [sent, why] of [
    ['', 'You are not signed in'],
    ['sluice_session=', 'Your session has ended'],
    [made, 'Your session has ended'],
    [`${made}; ${cookie}`, 'You are not signed in'],
    [`${cookie}; ${cookie}`, 'You are not signed in'],
  ] as const) {
    const answer = await callAs(running, sent, 'GET', '/publish_token/list')
    expect([sent, answer.status, answer.json.data.message]).toEqual([sent, 401, `Unauthorized: ${why}. Sign in.`])
    expect(answer.headers.get('www-authenticate')).toBe('Session realm="sluice"')
    const channels = await callAs(running, sent, 'GET', '/v2/channels')
    expect([sent, channels.status, channels.json.code]).toEqual([sent, 401, 'unauthorized'])
  }
  expect((await callAs(running, `other=1; ${cookie}; more=2`, 'GET', '/publish_token/list')).status).toBe(200)
})

test('the cookie opens neither the token API nor the channels interface, and a secret does not open the dashboard', async () => {
  const { cookie } = await browserOf(running)
  for (const path of ['/api/publish_token/list', '/v2/channels', '/api/sessions', '/metrics']) {
    const answer = await running.call('GET', path, undefined, {
      authorization: '',
      cookie,
      'x-sluice-dashboard': '1',
      'x-forwarded-for': '192.0.2.1',
    })
    expect([path, answer.status]).toEqual([path, 401])
  }
  const answer = await running.call('GET', '/dashboard/api/publish_token/list')
  expect(answer.status).toBe(401)
})

test('a change needs the header of the dashboard, and no page of another origin may cause a request', async () => {
  const { cookie } = await browserOf(running)
  const body = { label: 'Forged', streams: [{ streamName: 'forged' }] }
  const forged = (headers: Record<string, string>, method = 'POST', path = '/publish_token') =>
    callAs(running, cookie, method, path, method === 'POST' ? body : undefined, headers)
  const sites = ['cross-site', 'same-site', 'none', 'anything']
  for (const site of sites) expect([site, (await forged({ 'sec-fetch-site': site })).status]).toEqual([site, 403])
  expect((await forged({ 'x-sluice-dashboard': '' })).status).toBe(403)
  expect((await forged({ 'x-sluice-dashboard': 'yes' })).status).toBe(403)
  expect((await forged({ 'x-sluice-dashboard': '' }, 'DELETE', '/session')).status).toBe(403)
  expect((await forged({ 'sec-fetch-site': 'cross-site' }, 'GET', '/publish_token/list')).status).toBe(403)
  expect((await forged({ 'sec-fetch-site': 'cross-site' }, 'GET', '/v2/channels')).json.code).toBe('insufficient_scope')
  expect((await forged({ 'sec-fetch-site': 'none' }, 'GET', '/publish_token/list')).status).toBe(200)
  expect((await forged({ 'sec-fetch-site': '' })).status).toBe(200)
})

test('signing in needs the same, so that no other page can sign a browser in', async () => {
  const { email } = await makeUser(running, 'admin')
  const credentials = { email, password: PASSWORD }
  const noHeader = await callAs(running, '', 'POST', '/session', credentials, { 'x-sluice-dashboard': '' })
  expect([noHeader.status, noHeader.headers.get('set-cookie')]).toEqual([403, null])
  const crossSite = await callAs(running, '', 'POST', '/session', credentials, { 'sec-fetch-site': 'cross-site' })
  expect([crossSite.status, crossSite.headers.get('set-cookie')]).toEqual([403, null])
})

test('signing in gives a new value and ends the session that the browser had', async () => {
  const first = await browserOf(running)
  const fixed = 'sluice_session=' + 'B'.repeat(43)
  const planted = await callAs(running, fixed, 'POST', '/session', { email: first.email, password: PASSWORD })
  expect(cookieOf(planted)).not.toBe(fixed)
  const again = await callAs(running, first.cookie, 'POST', '/session', { email: first.email, password: PASSWORD })
  expect(cookieOf(again)).not.toBe(first.cookie)
  expect((await first.call('GET', '/session')).status).toBe(401)
  expect((await callAs(running, cookieOf(again), 'GET', '/session')).status).toBe(200)
})

test('a viewer looks and asks, changes nothing, and reads no secret of the token API', async () => {
  const admin = await browserOf(running)
  const viewer = await browserOf(running, 'viewer')
  const token = (await admin.call('POST', '/subscribe_token', { label: 'Seen', streams: [{ streamName: 'seen' }] }))
    .json.data
  const url = 'https://hooks.example.com/key-in-the-path?key=in-the-query'
  const hook = (await admin.call('POST', '/webhooks', { url, isFeedHooks: true })).json.data
  expect([token.token, hook.secret, hook.url]).toEqual([expect.stringMatching(/^\w{64}$/), expect.any(String), url])
  for (const path of [
    `/subscribe_token/${token.id}`,
    '/subscribe_token/list',
    '/subscribe_token/list_by_name?name=Seen',
    `/webhooks/${hook.id}`,
    '/webhooks/list',
  ]) {
    const [mine, theirs] = [await admin.call('GET', path), await viewer.call('GET', path)]
    expect([path, theirs.status, theirs.headers.get('content-type')]).toEqual([
      path,
      200,
      'application/json; charset=utf-8',
    ])
    expect([path, mine.text.includes(token.token) || mine.text.includes(hook.secret)]).toEqual([path, true])
    for (const secret of [token.token, hook.secret, 'key-in-the-path', 'in-the-query']) {
      expect([path, secret, theirs.text.includes(secret)]).toEqual([path, secret, false])
    }
  }
  const seen = (await viewer.call('GET', `/subscribe_token/${token.id}`)).json.data
  const { token: _value, ...rest } = token
  expect(seen).toEqual(rest)
  expect((await viewer.call('GET', `/webhooks/${hook.id}`)).json.data.url).toBe('https://hooks.example.com/')

  const asked = { action: 'view', protocol: 'whep', streamName: 'seen', ip: '192.0.2.7' }
  expect((await viewer.call('POST', '/access/check', asked)).status).toBe(200)
  const refused = await viewer.call('DELETE', `/subscribe_token/${token.id}`)
  expect(refused).toMatchObject({ status: 403, json: { status: 'fail' } })
  expect((await admin.call('GET', `/subscribe_token/${token.id}`)).status).toBe(200)
  expect((await viewer.call('GET', '/subscribe_token/999999')).status).toBe(404)
})

test('a role that changes, and a user who is deleted, count with the next request', async () => {
  const { store } = running.app.ctx
  const browser = await browserOf(running)
  await store.transaction((tx) => tx.users.setRole(browser.id, 'viewer'))
  expect((await browser.call('POST', '/stream/stop/all')).status).toBe(403)
  await store.transaction((tx) => tx.users.delete(browser.id))
  expect((await browser.call('GET', '/session')).status).toBe(401)
})

test('a wrong password and an unknown address get one answer, and many wrong ones a pause for this user alone, at this address', async () => {
  const { email } = await makeUser(running, 'admin')
  const other = await makeUser(running, 'admin')
  const tried = (who: string, password: string) => callAs(running, '', 'POST', '/session', { email: who, password })
  const [wrong, unknown] = [await tried(email, 'wrong password'), await tried('nobody@example.com', 'wrong password')]
  expect(wrong.status).toBe(401)
  expect(wrong.json).toEqual(unknown.json)
  // At once: one after another a busy machine takes so long that the budget grows meanwhile.
  const guesses = await Promise.all(Array.from({ length: 24 }, (_, count) => tried(email, `wrong password ${count}`)))
  const last = guesses.find(({ status }) => status === 429)
  expect(guesses.filter(({ status }) => status === 401).length).toBeLessThan(24)
  expect(Number(last?.headers.get('retry-after'))).toBeGreaterThan(0)
  // Nor does the right one, or guessing would go on.
  const right = await Promise.all(Array.from({ length: 6 }, () => tried(email, PASSWORD)))
  expect(right.map(({ status }) => status)).toContain(429)
  expect((await tried(other.email, PASSWORD)).status).toBe(200)
})

/** Attempts at limits of their own, from the addresses that it is told. */
function attempts(clock: Clock = systemClock) {
  let address = ''
  const limits = new SignInLimits(clock, () => parseAddress(address) as Address)
  const request = { socket: {}, headers: {} } as FastifyRequest
  return (from: string, attempt: Attempt, work: () => Promise<{ ok: boolean }>) => {
    address = from
    return limits.attempt(request, attempt, work)
  }
}

const password = (email: string, browser: string | null = null): Attempt => ({ kind: 'password', email, browser })

test('an admin who creates many users has one password hashed at a time, and others sign in meanwhile', async () => {
  const attempt = attempts()
  const gate = Promise.withResolvers<void>()
  const begun: string[] = []
  const create = () =>
    attempt('192.0.2.1', { kind: 'creation', userId: 1 }, async () => {
      begun.push('creation')
      await gate.promise
      return { ok: true }
    })
  const created = Array.from({ length: 12 }, create)
  const signedIn = attempt('192.0.2.2', password('a@example.com'), async () => {
    begun.push('sign in')
    return { ok: true }
  })
  gate.resolve()
  expect(await signedIn).toEqual({ ok: true })
  const refused = (await Promise.all(created)).filter((done) => typeof done === 'number')
  expect([refused.length, begun.indexOf('sign in')]).toEqual([3, 4])
})

test('passwords are checked one at a time, 32 wait, and further attempts are asked to come later', async () => {
  const attempt = attempts()
  const first = Promise.withResolvers<void>()
  const begun: number[] = []
  // The queue of one address is shorter, so each attempt comes from an address of its own.
  const all = Array.from({ length: 35 }, (_, index) =>
    attempt(`192.0.2.${index}`, password(`user${index}@example.com`), async () => {
      begun.push(index)
      if (index === 0) await first.promise
      return { ok: true }
    }),
  )
  expect(begun).toEqual([0])
  expect(await Promise.all(all.slice(33))).toEqual([1000, 1000])
  first.resolve()
  expect(await Promise.all(all.slice(0, 33))).toEqual(Array.from({ length: 33 }, () => ({ ok: true })))
  expect(begun).toHaveLength(33)
})

test('wrong passwords from one address refuse the user there alone, and no browser in which the user signed in before', async () => {
  const attempt = attempts({ ...systemClock, monotonic: () => 0 })
  const victim = 'ann@example.com'
  const wrong = async () => ({ ok: false })
  const right = async () => ({ ok: true })
  for (let count = 0; count < 40; count++) await attempt('192.0.2.66', password(victim), wrong)
  expect(await attempt('192.0.2.66', password(victim), right)).toBeTypeOf('number')
  expect(await attempt('192.0.2.7', password(victim), right)).toEqual({ ok: true })
  expect(await attempt('192.0.2.66', password(victim, 'sign'), right)).toEqual({ ok: true })
  expect(await attempt('192.0.2.66', { kind: 'confirmation', userId: 7 }, right)).toEqual({ ok: true })
  // The sign of a browser is no way to guess without end.
  for (let count = 0; count < 10; count++) await attempt('192.0.2.7', password(victim, 'stolen'), wrong)
  expect(await attempt('192.0.2.8', password(victim, 'stolen'), right)).toBeTypeOf('number')
})

test('five addresses that fill the queue of passwords delay others by no more than their turns', async () => {
  const attempt = attempts()
  const first = Promise.withResolvers<void>()
  const order: string[] = []
  const work = (name: string) => async () => {
    if (order.push(name) === 1) await first.promise
    return { ok: true }
  }
  const flood = Array.from({ length: 100 }, (_, index) =>
    attempt(`198.51.100.${index % 5}`, password(`any${index}@example.com`), work('flood')),
  )
  expect(await attempt('192.0.2.7', { kind: 'passkey' }, work('passkey'))).toEqual({ ok: true })
  expect(await attempt('198.51.100.1', { kind: 'link' }, work('link'))).toEqual({ ok: true })
  const known = attempt('198.51.100.1', password('ann@example.com', 'sign'), work('known'))
  const stranger = attempt('192.0.2.7', password('bea@example.com'), work('stranger'))
  first.resolve()
  expect(await Promise.all([known, stranger])).toEqual([{ ok: true }, { ok: true }])
  await Promise.all(flood)
  expect(order.slice(0, 4)).toEqual(['flood', 'passkey', 'link', 'known'])
  expect(order.indexOf('stranger')).toBe(9)
})

test('an IPv6 client with the 65,536 addresses of its network filled the queue of passwords, so that strangers found no room', async () => {
  const attempt = attempts()
  const first = Promise.withResolvers<void>()
  const right = async () => ({ ok: true })
  const flood = Array.from({ length: 100 }, (_, index) =>
    attempt(`2001:db8:7:${index}::1`, password(`any${index}@example.com`), async () => {
      await first.promise
      return { ok: true }
    }),
  )
  const strangers = ['192.0.2.7', '2001:db8:8::1'].map((from) => attempt(from, password('bea@example.com'), right))
  first.resolve()
  expect(await Promise.all(strangers)).toEqual([{ ok: true }, { ok: true }])
  expect((await Promise.all(flood)).filter((done) => done === 1000)).toHaveLength(91)
})

test('the guesses of an IPv6 client are limited for all addresses of its network', async () => {
  const attempt = attempts({ ...systemClock, monotonic: () => 0 })
  const [wrong, right] = [async () => ({ ok: false }), async () => ({ ok: true })]
  for (let index = 0; index < 120; index++) await attempt(`2001:db8:7:${index}::1`, password('ann@example.com'), wrong)
  expect(await attempt('2001:db8:7:ffff::1', password('ann@example.com'), right)).toBeTypeOf('number')
  expect(await attempt('2001:db8:8::1', password('ann@example.com'), right)).toEqual({ ok: true })
})

test('a browser in which a user signed in before signs in during a lock-out, and its sign serves no other user', async () => {
  const [{ email }, other] = [await makeUser(running, 'admin'), await makeUser(running, 'admin')]
  const tried = (who: string, cookie: string, word = PASSWORD) =>
    callAs(running, cookie, 'POST', '/session', { email: who, password: word })
  const signedIn = await tried(email, '')
  const sign = signedIn.headers.getSetCookie()[1]?.split(';', 1)[0] ?? ''
  for (const who of [email, other.email]) {
    await Promise.all(Array.from({ length: 24 }, (_, count) => tried(who, '', `wrong password ${count}`)))
  }
  const statuses = async (who: string, cookie: string) =>
    (await Promise.all(Array.from({ length: 5 }, () => tried(who, cookie)))).map(({ status }) => status)
  expect(await statuses(email, sign)).toEqual([200, 200, 200, 200, 200])
  // It is set once, not with every sign-in.
  expect((await tried(email, sign)).headers.getSetCookie()).toHaveLength(1)
  const forged = `${sign.slice(0, -1)}${sign.endsWith('A') ? 'B' : 'A'}`
  for (const cookie of ['', forged, `${sign}; ${sign}`]) expect(await statuses(email, cookie)).toContain(429)
  expect(await statuses(other.email, sign)).toContain(429)
})

test('a body that is not a sign-in is refused with every field, and none of its values', async () => {
  const answer = await callAs(running, '', 'POST', '/session', { email: 7, pasword: 'my secret word' })
  expect(answer.status).toBe(400)
  expect(answer.text).not.toContain('my secret word')
  expect(Object.keys(answer.json.data.errors)).toEqual(['email', 'pasword', 'password'])
})

test('what is unknown answers as in the other interfaces', async () => {
  const browser = await browserOf(running)
  const call = (method: string, path: string) => browser.call(method, path)
  expect((await call('GET', '/nothing')).json.data.message).toBe('Nothing is at /dashboard/api/nothing')
  expect((await call('GET', '/publish_token/word')).status).toBe(404)
  expect((await call('POST', '/nothing')).status).toBe(404)
  expect((await call('PUT', '/session')).headers.get('allow')).toBe('DELETE, GET, HEAD, POST')
  expect((await call('GET', '/v2/nothing')).json.code).toBe('not_found')
})

test('with server.dashboard off nothing is there', async () => {
  const off = await runApp({ flags: { server: { dashboard: false } } })
  const answer = await callAs(off, '', 'GET', '/session')
  await off.close()
  expect(answer.status).toBe(404)
})

test('more sessions than a user may have end the one that was unused for longest', async () => {
  const browser = await browserOf(running)
  const { store, clock } = running.app.ctx
  const [row] = await store.read.dashboardSessions.list(browser.id)
  await store.transaction(async (tx) => {
    for (let at = 0; at < 19; at++) {
      const hash = sha256(`${browser.id} ${at}`)
      const { id: _id, ...like } = row!
      await tx.dashboardSessions.insert({ ...like, hash, seenAtMs: clock.now() + 60_000 })
    }
  })
  const newest = await signInAs(running, browser.email)
  expect((await newest.call('GET', '/session')).status).toBe(200)
  expect((await browser.call('GET', '/session')).status).toBe(401)
  expect(await store.read.dashboardSessions.list(browser.id)).toHaveLength(20)
})
