import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { type Answer, runApp, type RunningApp } from '../support/app.ts'
import { Authenticator, type Ceremony } from '../support/authenticator.ts'
import { type Browser, browserOf, callAs, cookieOf, PASSWORD } from '../support/dashboard.ts'

const HOST = 'tv.example.com'
/** As a trusted proxy passes a request on. */
const AT: Record<string, string> = { 'x-forwarded-host': HOST }
const SITE = { rpId: HOST, origin: `https://${HOST}` }

let running: RunningApp
let aheadMs = 0
beforeAll(async () => {
  const clock = { ...systemClock, now: () => systemClock.now() + aheadMs }
  running = await runApp({ clock, flags: { server: { trustedProxies: ['127.0.0.1'] } } })
})
afterAll(() => running.close())

async function creationChallenge(browser: Browser): Promise<string> {
  return (await browser.call('POST', '/passkeys/options', { password: PASSWORD }, AT)).json.data.challenge
}

async function signInChallenge(): Promise<string> {
  return (await callAs(running, '', 'POST', '/passkey_session/options', undefined, AT)).json.data.challenge
}

const signIn = (response: object, headers: Record<string, string> = AT): Promise<Answer> =>
  callAs(running, '', 'POST', '/passkey_session', { response }, headers)

async function withPasskey(): Promise<{ browser: Browser; key: Authenticator }> {
  const [browser, key] = [await browserOf(running, 'viewer'), new Authenticator()]
  const response = key.create({ ...SITE, challenge: await creationChallenge(browser) })
  const added = await browser.call('POST', '/passkeys', { name: 'Phone', response }, AT)
  if (added.status !== 200) throw new Error(added.text)
  return { browser, key }
}

test('a user adds a passkey, signs in with it alone, and deletes it', async () => {
  const [browser, key] = [await browserOf(running, 'viewer'), new Authenticator()]
  const options = (await browser.call('POST', '/passkeys/options', { password: PASSWORD }, AT)).json.data
  expect(options).toMatchObject({
    rp: { id: HOST, name: 'Sluice' },
    user: { name: browser.email },
    attestation: 'none',
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
  const response = key.create({ ...SITE, challenge: options.challenge })
  const added = await browser.call('POST', '/passkeys', { name: 'Phone', response }, AT)
  expect(added.json.data).toEqual({ id: key.id, name: 'Phone', host: HOST, createdOn: expect.any(String) })

  const signedIn = await signIn(key.get({ ...SITE, challenge: await signInChallenge(), counter: 1 }))
  expect(signedIn.json.data.user).toEqual({ id: browser.id, email: browser.email, role: 'viewer' })
  const cookie = cookieOf(signedIn)
  const listed = await callAs(running, cookie, 'GET', '/passkeys')
  expect(listed.json.data).toEqual([{ ...added.json.data, lastUsedOn: expect.any(String) }])
  const audited = (await running.app.ctx.store.read.audit.recent(running.accountId, 9)).map(({ action }) => action)
  expect(audited).toEqual(expect.arrayContaining(['passkey.create', 'session.create']))

  const other = await browserOf(running)
  expect((await other.call('DELETE', `/passkeys/${key.id}`)).status).toBe(404)
  expect((await callAs(running, cookie, 'DELETE', `/passkeys/${key.id}`)).json.data).toBe(true)
  const after = await signIn(key.get({ ...SITE, challenge: await signInChallenge(), counter: 2 }))
  expect(after.status).toBe(401)
})

test('an answer opens nothing twice, not late, not for another page, user, purpose or key, and not unverified', async () => {
  const { browser, key } = await withPasskey()
  const fresh = async (change: Partial<Ceremony> = {}) => ({ ...SITE, challenge: await signInChallenge(), ...change })
  const once = key.get(await fresh())
  const both = await Promise.all([signIn(once), signIn(once)])
  expect(both.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 401])

  const late = key.get(await fresh())
  aheadMs += 5 * 60_000
  expect((await signIn(late)).status).toBe(401)

  const unknownChallenge = Buffer.alloc(40, 1).toString('base64url')
  const forged: Record<string, object> = {
    'another page': key.get(await fresh({ origin: 'https://tv.example.org' })),
    'another site': key.get(await fresh({ rpId: 'example.org' })),
    'a challenge of its own': key.get(await fresh({ challenge: unknownChallenge })),
    'another purpose': key.get(await fresh({ challenge: await creationChallenge(browser) })),
    'not verified': key.get(await fresh({ flags: 0x01 })),
    'not present': key.get(await fresh({ flags: 0x00 })),
    'another type': key.get(await fresh({ type: 'webauthn.create' })),
    'another key': { ...new Authenticator().get(await fresh()), id: key.id, rawId: key.id },
    'an unknown key': new Authenticator().get(await fresh()),
    'no answer': { id: key.id },
  }
  for (const [what, response] of Object.entries(forged)) {
    const { status, headers } = await signIn(response)
    expect([what, status, headers.get('set-cookie')]).toEqual([what, 401, null])
  }
  const otherHost = await signIn(key.get(await fresh()), { 'x-forwarded-host': 'tv.example.org' })
  expect(otherHost.status).toBe(401)
  expect((await signIn(key.get(await fresh()))).status).toBe(200)
})

test('a counter that does not rise shows a copied key', async () => {
  const { key } = await withPasskey()
  const signed = async (counter: number) =>
    (await signIn(key.get({ ...SITE, challenge: await signInChallenge(), counter }))).status
  expect([await signed(5), await signed(5), await signed(4), await signed(6)]).toEqual([200, 401, 401, 200])
})

test('a passkey is added only by its user, on this page, without certificates, and once', async () => {
  const [mine, other] = [await browserOf(running, 'viewer'), await browserOf(running, 'viewer')]
  const add = (response: object, headers = AT) => mine.call('POST', '/passkeys', { name: 'Key', response }, headers)
  const foreign = new Authenticator().create({ ...SITE, challenge: await creationChallenge(other) })
  const otherPage = new Authenticator().create({
    ...SITE,
    origin: 'https://evil.example',
    challenge: await creationChallenge(mine),
  })
  expect([(await add(foreign)).status, (await add(otherPage)).status]).toEqual([400, 400])
  const key = new Authenticator()
  const response = key.create({ ...SITE, challenge: await creationChallenge(mine) })
  expect([(await add(response)).status, (await add(response)).status]).toEqual([200, 400])
  const again = key.create({ ...SITE, challenge: await creationChallenge(mine) })
  expect((await add(again)).status).toBe(409)
  for (const name of ['', 'Phone\0'])
    expect((await mine.call('POST', '/passkeys', { name, response: null }, AT)).json.data.errors).toHaveProperty('name')
})

test('a user has twenty passkeys and no more', async () => {
  const { browser, key } = await withPasskey()
  const { store } = running.app.ctx
  const [passkey] = await store.read.passkeys.list(browser.id)
  if (!passkey) throw new Error('no passkey')
  const add = async () => {
    const response = new Authenticator().create({ ...SITE, challenge: await creationChallenge(browser) })
    return (await browser.call('POST', '/passkeys', { name: 'Key', response }, AT)).status
  }
  await store.transaction(async (tx) => {
    for (let n = 1; n < 19; n++) await tx.passkeys.insert({ ...passkey, id: `${key.id}${n}` })
  })
  expect([await add(), await add()]).toEqual([200, 409])
})

test('certificates in an attestation are refused before anything reads them', async () => {
  const mine = await browserOf(running, 'viewer')
  const certificates = [Buffer.from('any certificate')]
  const response = new Authenticator().create({ ...SITE, challenge: await creationChallenge(mine), certificates })
  const answer = await mine.call('POST', '/passkeys', { name: 'Key', response }, AT)
  expect([answer.status, answer.json.data.message]).toEqual([
    400,
    'This passkey was not added: it sends certificates, which Sluice did not ask for',
  ])
})

test('an address has no passkeys, and says what has', async () => {
  const browser = await browserOf(running, 'viewer')
  for (const host of ['127.0.0.1:8080', '[::1]:8080', 'not a host']) {
    const answer = await browser.call('POST', '/passkeys/options', { password: PASSWORD }, { 'x-forwarded-host': host })
    expect([host, answer.status]).toEqual([host, 400])
  }
  const local = await browser.call(
    'POST',
    '/passkeys/options',
    { password: PASSWORD },
    { 'x-forwarded-host': 'localhost:8080' },
  )
  expect(local.json.data.rp.id).toBe('localhost')
})

test('only a trusted proxy may say which host was asked for', async () => {
  const direct = await runApp()
  const browser = await browserOf(direct, 'viewer')
  const answer = await browser.call('POST', '/passkeys/options', { password: PASSWORD }, AT)
  await direct.close()
  // Its own host is an address.
  expect(answer.status).toBe(400)
})

test('a deleted user takes the passkeys along', async () => {
  const { browser, key } = await withPasskey()
  const admin = await browserOf(running)
  expect((await admin.call('DELETE', `/users/${browser.id}`)).status).toBe(200)
  expect((await signIn(key.get({ ...SITE, challenge: await signInChallenge() }))).status).toBe(401)
  expect(await running.app.ctx.store.read.passkeys.get(key.id)).toBeUndefined()
})

test('a session alone adds no passkey: the password or one of the own passkeys does', async () => {
  const { browser, key } = await withPasskey()
  const other = await withPasskey()
  const options = (body: unknown) => browser.call('POST', '/passkeys/options', body, AT)
  const signed = async (by: Authenticator) => by.get({ ...SITE, challenge: await signInChallenge(), counter: 1 })
  const response = await signed(key)
  const refused = [
    await options(undefined),
    await options({}),
    await options({ password: 'wrong password' }),
    await options({ response: {} }),
    await options({ response: await signed(other.key) }),
    await options({ password: PASSWORD, response }),
  ]
  expect(refused.map(({ status, json }) => [status, json.data.challenge])).toEqual(
    [400, 400, 400, 401, 403, 400].map((status) => [status, undefined]),
  )
  const challenge = (await options({ response })).json.data.challenge
  expect((await options({ response })).status).toBe(401)
  const added = new Authenticator().create({ ...SITE, challenge })
  expect((await browser.call('POST', '/passkeys', { name: 'Second', response: added }, AT)).status).toBe(200)
})

test('a thief with a session does not find out the password by adding passkeys', async () => {
  const browser = await browserOf(running)
  const guess = () => browser.call('POST', '/passkeys/options', { password: 'wrong password' }, AT)
  const guesses = await Promise.all(Array.from({ length: 24 }, guess))
  expect(guesses.map(({ status }) => status)).toContain(429)
})

test('a new password leaves passkeys, or deletes them where the user says so', async () => {
  const { browser, key } = await withPasskey()
  const words = ['a first new word', 'a second new word']
  const change = (oldPassword: string, newPassword: string, rest: object, cookie: string) =>
    callAs(running, cookie, 'PUT', '/password', { oldPassword, newPassword, ...rest })
  const first = await change(PASSWORD, words[0] ?? '', {}, browser.cookie)
  expect((await signIn(key.get({ ...SITE, challenge: await signInChallenge(), counter: 1 }))).status).toBe(200)
  const second = await change(words[0] ?? '', words[1] ?? '', { deletePasskeys: true }, cookieOf(first))
  expect(second.status).toBe(200)
  expect((await signIn(key.get({ ...SITE, challenge: await signInChallenge(), counter: 2 }))).status).toBe(401)
  expect((await callAs(running, cookieOf(second), 'GET', '/passkeys')).json.data).toEqual([])
  const rows = await running.app.ctx.store.read.audit.recent(running.accountId, 9)
  expect(rows.find(({ action }) => action === 'user.change_password')).toMatchObject({ before: '{"passkeys":1}' })
})
