import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { cliActor } from '../../src/commands/context.ts'
import { createSetupCode, firstSetupCode } from '../../src/commands/users/setup.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { callAs, cookieOf, makeUser, PASSWORD } from '../support/dashboard.ts'

const MINUTE = 60_000

let running: RunningApp
let aheadMs = 0
beforeAll(async () => {
  const clock = { ...systemClock, now: () => systemClock.now() + aheadMs }
  running = await runApp({ clock })
})
afterAll(() => running.close())

const first = () => firstSetupCode(running.app.ctx, cliActor(running.accountId))
const redeem = (code: string | null, email: string) =>
  callAs(running, '', 'POST', '/setup', { code, email, password: PASSWORD })

test('before there is a user, the session says what to do', async () => {
  const answer = await callAs(running, '', 'GET', '/session')
  expect(answer.status).toBe(401)
  expect(answer.json.data).toEqual({
    message: 'Unauthorized: there is no user yet. Open the link that Sluice printed, or run: sluice user link',
    isFirstRun: true,
  })
})

test('a link makes one user, an admin who is signed in, however many redeem it and others at once', async () => {
  const [one, two] = [await first(), await first()]
  const answers = await Promise.all([one, one, two, one].map((code, at) => redeem(code, `first${at}@example.com`)))
  const made = answers.filter(({ status }) => status === 200)
  expect(made).toHaveLength(1)
  const users = await running.app.ctx.store.read.users.list(running.accountId)
  expect(users.map(({ role }) => role)).toEqual(['admin'])
  const who = await callAs(running, cookieOf(made[0]!), 'GET', '/session')
  expect(who.json.data.user).toEqual({ id: users[0]?.id, email: users[0]?.email, role: 'admin' })
  const row = (await running.app.ctx.store.read.audit.recent(running.accountId, 9)).find(
    (a) => a.action === 'user.create',
  )
  expect(row).toMatchObject({ actor: { kind: 'user', id: users[0]?.id }, address: '127.0.0.1' })

  const again = await Promise.all([redeem(one, 'x@example.com'), redeem(two, 'y@example.com')])
  expect(again.map(({ status }) => status)).toEqual([403, 403])
  expect(again.map(({ json }) => json.data.message)).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^This link makes the first user, and Sluice has a user already/),
      expect.stringMatching(/^This link was used already: .*sluice user link$/),
    ]),
  )
  expect(await first()).toBeNull()
})

test('a link of the command line makes a user of its role beside others, once and for 30 minutes', async () => {
  await makeUser(running, 'admin')
  const actor = cliActor(running.accountId)
  const code = await createSetupCode(running.app.ctx, actor, { role: 'viewer', firstOnly: false })
  const taken = await makeUser(running, 'admin')
  expect((await redeem(code, taken.email)).status).toBe(409)
  aheadMs += 29 * MINUTE
  const answer = await redeem(code, 'Vera@Example.com')
  expect(answer.json.data.user).toMatchObject({ email: 'vera@example.com', role: 'viewer' })

  const late = await createSetupCode(running.app.ctx, actor, { role: 'admin', firstOnly: false })
  aheadMs += 30 * MINUTE
  const refused = await redeem(late, 'late@example.com')
  expect([refused.status, refused.json.data.message]).toEqual([
    403,
    'This link is older than 30 minutes. For another link run: sluice user link, or restart Sluice while it has no user',
  ])
})

test('a made-up code, a weak password and a strange address are refused, and the code stays usable', async () => {
  const actor = cliActor(running.accountId)
  const code = await createSetupCode(running.app.ctx, actor, { role: 'admin', firstOnly: false })
  const made = await redeem('A'.repeat(43), 'm@example.com')
  expect([made.status, made.json.data.message]).toEqual([403, expect.stringMatching(/^This link is not valid/)])
  const weak = await callAs(running, '', 'POST', '/setup', { code, email: 'nowhere', password: '123456789' })
  expect(Object.keys(weak.json.data.errors)).toEqual(['password'])
  expect((await redeem(code, 'nowhere')).json.data.errors).toHaveProperty('email')
  expect((await redeem(code, 'fine@example.com')).status).toBe(200)
})

test('the store and the audit log have no code', async () => {
  const actor = cliActor(running.accountId)
  const code = await createSetupCode(running.app.ctx, actor, { role: 'admin', firstOnly: false })
  const rows = await running.app.ctx.store.read.audit.recent(running.accountId, 100)
  expect(JSON.stringify(rows)).toContain('setup_code.create')
  expect(JSON.stringify(rows)).not.toContain(code)
})
