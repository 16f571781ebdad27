import { afterAll, beforeAll, expect, test } from 'vitest'
import { sha256 } from '../../src/base/crypto.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { type Browser, browserOf, callAs, cookieOf, PASSWORD, signInAs } from '../support/dashboard.ts'

let running: RunningApp
let admin: Browser
beforeAll(async () => {
  running = await runApp()
  admin = await browserOf(running)
})
afterAll(() => running.close())

const audited = async (action: string) =>
  (await running.app.ctx.store.read.audit.recent(running.accountId, 50)).find((row) => row.action === action)

test('an admin creates, lists, promotes and deletes users, under the own name', async () => {
  const made = await admin.call('POST', '/users', { email: ' Bea@Example.com ', password: PASSWORD, role: 'viewer' })
  const { id } = made.json.data
  const record = { id, email: 'bea@example.com', role: 'viewer', createdOn: expect.any(String) }
  expect(made.json).toEqual({ status: 'success', data: record })
  const bea = await signInAs(running, 'bea@example.com')
  expect((await bea.call('GET', '/users')).json.data).toContainEqual(record)
  expect((await bea.call('POST', '/users', {})).status).toBe(403)

  const promoted = await admin.call('PATCH', `/users/${id}`, { role: 'admin' })
  expect(promoted.json.data).toEqual({ ...record, role: 'admin' })
  expect((await bea.call('POST', '/users', {})).status).toBe(400)
  expect(await audited('user.update')).toMatchObject({
    actor: { kind: 'user', id: admin.id },
    subject: String(id),
    before: '{"role":"viewer"}',
    after: '{"role":"admin"}',
  })

  expect((await admin.call('DELETE', `/users/${id}`)).json.data).toBe(true)
  expect((await bea.call('GET', '/session')).status).toBe(401)
  expect((await admin.call('DELETE', `/users/${id}`)).json.data).toEqual({ userId: `No user with id: ${id}` })
  expect(await audited('user.delete')).toMatchObject({ actor: { kind: 'user', id: admin.id }, subject: String(id) })
})

test('wrong fields of a new user are named, without the password', async () => {
  const body = { email: 'no address', password: 'short', role: 'owner' }
  const shape = await admin.call('POST', '/users', body)
  expect(Object.keys(shape.json.data.errors)).toEqual(['password', 'role'])
  expect(shape.text).not.toContain('short')
  const rule = await admin.call('POST', '/users', { email: 'no address', password: PASSWORD, role: 'viewer' })
  expect(rule.json.data.errors).toEqual({ email: ['must be an address like name@example.com'] })
  const taken = await admin.call('POST', '/users', { email: admin.email, password: PASSWORD, role: 'viewer' })
  expect(taken.status).toBe(409)
})

test('the last admin is neither deleted nor made a viewer, even by two admins who do it to each other', async () => {
  const other = await runApp()
  const [first, second] = [await browserOf(other), await browserOf(other)]
  const both = await Promise.all([
    first.call('PATCH', `/users/${second.id}`, { role: 'viewer' }),
    second.call('DELETE', `/users/${first.id}`),
  ])
  expect(both.filter(({ status }) => status === 200)).toHaveLength(1)
  const users = await other.app.ctx.store.read.users.list(other.accountId)
  const [last] = users.filter(({ role }) => role === 'admin')
  expect(users.filter(({ role }) => role === 'admin')).toHaveLength(1)
  const mine = await signInAs(other, last?.email ?? '')
  const refused = [
    await mine.call('DELETE', `/users/${last?.id}`),
    await mine.call('PATCH', `/users/${last?.id}`, { role: 'viewer' }),
  ]
  await other.close()
  expect(refused.map(({ status }) => status)).toEqual([409, 409])
  expect(refused[0]?.json.data.message).toBe('The last admin cannot be deleted: make another user an admin first')
})

test('a user of another account looks like one that does not exist', async () => {
  const { store } = running.app.ctx
  const accountId = 'zzzzzz'
  const user = await store.transaction(async (tx) => {
    await tx.accounts.insert({ id: accountId, name: 'Other', createdAtMs: 1 })
    return tx.users.insert({ accountId, email: 'far@example.com', passwordHash: '', role: 'admin', createdAtMs: 1 })
  })
  const answer = await admin.call('DELETE', `/users/${user.id}`)
  expect(answer).toMatchObject({ status: 404, json: { data: { userId: `No user with id: ${user.id}` } } })
  expect(await store.read.users.get(accountId, user.id)).toEqual(user)
})

test('a changed password needs the old one, ends all sessions, and gives this browser a new one', async () => {
  const viewer = await browserOf(running, 'viewer')
  const phone = await signInAs(running, viewer.email)
  const newPassword = 'another horse battery'
  const wrong = await viewer.call('PUT', '/password', { oldPassword: 'a wrong word', newPassword })
  expect(wrong).toMatchObject({ status: 400, json: { data: { errors: { oldPassword: ['is not your password'] } } } })
  const changed = await viewer.call('PUT', '/password', { oldPassword: PASSWORD, newPassword })
  expect(changed.status).toBe(200)
  expect((await phone.call('GET', '/session')).status).toBe(401)
  expect((await viewer.call('GET', '/session')).status).toBe(401)
  expect((await callAs(running, cookieOf(changed), 'GET', '/session')).status).toBe(200)
  const tried = (password: string) => callAs(running, '', 'POST', '/session', { email: viewer.email, password })
  expect([(await tried(PASSWORD)).status, (await tried(newPassword)).status]).toEqual([401, 200])
  const row = await audited('user.change_password')
  expect(row).toMatchObject({ actor: { kind: 'user', id: viewer.id }, before: null, after: null })
})

test('a user lists the own sessions, ends one, and signs out everywhere', async () => {
  const mine = await browserOf(running, 'viewer')
  const phone = await callAs(
    running,
    '',
    'POST',
    '/session',
    { email: mine.email, password: PASSWORD },
    { 'user-agent': `<b>Phone</b> ${'x'.repeat(500)}` },
  )
  const { data } = (await mine.call('GET', '/session/all')).json
  const agent = expect.stringMatching(/^<b>Phone<\/b> x{243}$/)
  expect(data).toEqual([
    expect.objectContaining({ isCurrent: false, userAgent: agent, address: '127.0.0.1' }),
    expect.objectContaining({ isCurrent: true }),
  ])
  const notMine = (await admin.call('GET', '/session/all')).json.data[0].id
  expect((await mine.call('DELETE', `/session/${notMine}`)).status).toBe(404)
  expect((await admin.call('GET', '/session')).status).toBe(200)
  expect((await mine.call('DELETE', `/session/${data[0].id}`)).json.data).toBe(true)
  expect((await callAs(running, cookieOf(phone), 'GET', '/session')).status).toBe(401)
  await signInAs(running, mine.email)
  expect((await mine.call('DELETE', '/session/all')).json.data).toBe(2)
  expect((await mine.call('GET', '/session')).status).toBe(401)
})

test('a session ends after 12 hours without use, and after 30 days in any case', async () => {
  const { store, clock } = running.app.ctx
  const HOUR = 3_600_000
  const aged = async (change: { seenAtMs: number; expiresAtMs: number }) => {
    const browser = await browserOf(running, 'viewer')
    const [session] = await store.read.dashboardSessions.list(browser.id)
    const { id, ...same } = session!
    const value = browser.cookie.slice('sluice_session='.length)
    await store.transaction(async (tx) => {
      await tx.dashboardSessions.delete(browser.id, id)
      await tx.dashboardSessions.insert({ ...same, ...change, hash: sha256(value) })
    })
    return (await browser.call('GET', '/session')).json
  }
  const nowMs = clock.now()
  const unused = await aged({ seenAtMs: nowMs - 12 * HOUR, expiresAtMs: nowMs + HOUR })
  expect(unused.data.message).toBe('Unauthorized: Your session ended because it was not used for 12 hours. Sign in.')
  const old = await aged({ seenAtMs: nowMs, expiresAtMs: nowMs })
  expect(old.data.message).toBe('Unauthorized: Your session ended because it is 30 days old. Sign in.')
  const fine = await aged({ seenAtMs: nowMs - 11 * HOUR, expiresAtMs: nowMs + HOUR })
  expect(fine.status).toBe('success')
})

test('secrets are made, shown once, refreshed, deleted, and say when they were used last', async () => {
  const made = (await admin.call('POST', '/secrets', { name: 'backend' })).json.data
  expect(made).toEqual({
    id: expect.any(Number),
    name: 'backend',
    hint: made.value.slice(-4),
    createdOn: expect.any(String),
    value: expect.stringMatching(/^[\w-]{43}$/),
  })
  const statusOf = async (secret: string) =>
    (await running.call('GET', '/api/v3/account/info', undefined, { authorization: `Bearer ${secret}` })).status
  expect(await statusOf(made.value)).toBe(200)
  const listed = await admin.call('GET', '/secrets')
  expect(listed.text).not.toContain(made.value)
  await running.app.ctx.lastUses.flush(running.app.ctx.store)
  const [used] = (await admin.call('GET', '/secrets')).json.data.filter(({ id }: { id: number }) => id === made.id)
  expect(used.lastUsedOn).toEqual(expect.any(String))

  const fresh = (await admin.call('POST', `/secrets/${made.id}/refresh`)).json.data
  expect([await statusOf(made.value), await statusOf(fresh.value)]).toEqual([401, 200])
  expect((await admin.call('POST', '/secrets', { name: 'backend' })).status).toBe(409)
  expect((await admin.call('POST', '/secrets', { name: '' })).json.data.errors).toHaveProperty('name')
  expect((await admin.call('DELETE', `/secrets/${made.id}`)).json.data).toBe(true)
  expect(await statusOf(fresh.value)).toBe(401)
  expect((await admin.call('DELETE', '/secrets/word')).status).toBe(404)
  expect(await audited('secret.refresh')).toMatchObject({ actor: { kind: 'user', id: admin.id } })
})

test('credentials of /v2 are made with a scope, shown once, and deleted', async () => {
  const made = (await admin.call('POST', '/credentials', { name: 'control', scope: 'read' })).json.data
  const basic = `Basic ${Buffer.from(`${made.key}:${made.secret}`).toString('base64')}`
  const statusOf = async (method: string) =>
    (await running.call(method, '/v2/channels', method === 'GET' ? undefined : {}, { authorization: basic })).status
  expect([await statusOf('GET'), await statusOf('POST')]).toEqual([200, 403])
  await running.app.ctx.lastUses.flush(running.app.ctx.store)
  const listed = await admin.call('GET', '/credentials')
  expect(listed.text).not.toContain(made.secret)
  const { secret: _secret, ...record } = made
  expect(listed.json.data).toContainEqual({ ...record, lastUsedOn: expect.any(String) })
  expect((await admin.call('POST', '/credentials', { name: 'x' })).json.data.errors).toHaveProperty('scope')
  expect((await admin.call('DELETE', `/credentials/${made.id}`)).json.data).toBe(true)
  expect(await statusOf('GET')).toBe(401)
})
