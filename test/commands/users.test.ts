import { connected } from '../support/postgres.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { PASSWORD_COST } from '../../src/base/password.ts'
import { authenticateSecret } from '../../src/commands/accounts/authenticate.ts'
import { changeDefaults } from '../../src/commands/accounts/defaults.ts'
import { createSecret, deleteSecret, refreshSecret } from '../../src/commands/accounts/secrets.ts'
import { cliActor } from '../../src/commands/context.ts'
import { admitPublisher } from '../../src/commands/sessions/admit.ts'
import { changePassword } from '../../src/commands/users/password.ts'
import {
  findSignedIn,
  isSignedIn,
  listOwnSessions,
  signOutEverywhere,
  type Visitor,
} from '../../src/commands/users/sessions.ts'
import { createSetupCode, firstSetupCode, redeemSetupCode } from '../../src/commands/users/setup.ts'
import { signIn } from '../../src/commands/users/signIn.ts'
import { changeRole, createUser, deleteUser } from '../../src/commands/users/users.ts'
import { SqliteConnection } from '../../src/store/sqlite/connection.ts'
import type { Tx } from '../../src/store/store.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import { attemptOf, makeToken, startTestNode, type TestNode } from '../support/testNode.ts'
import { until } from '../support/until.ts'

const WAITING = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
const PASSWORD = 'correct horse battery'
const VISITOR: Visitor = { address: '192.0.2.1', requestId: 'r', userAgent: 'Browser', value: null }

describe.each(testedStores())('users on two nodes on %s', (engine) => {
  let place: Place
  let one: TestNode
  let other: TestNode
  beforeAll(async () => {
    place = await newPlace(engine)
    one = await startTestNode({ url: place.url })
    other = await startTestNode({ url: place.url })
  })
  afterAll(async () => {
    await one.close()
    await other.close()
    await place.remove()
  })
  beforeEach(async () => {
    const users = await one.ctx.store.read.users.list(one.accountId)
    await one.ctx.store.transaction(async (tx) => {
      for (const { id } of users) await tx.users.delete(id)
    })
  })

  const actor = () => cliActor(one.accountId)
  const list = () => one.ctx.store.read.users.list(one.accountId)
  const make = async (email: string) => {
    const code = await createSetupCode(one.ctx, actor(), { role: 'admin', firstOnly: false })
    const made = await redeemSetupCode(one.ctx, { code, email, password: PASSWORD }, VISITOR)
    if (!made.ok) throw new Error(JSON.stringify(made.error))
    return made.value
  }

  it('an address that no database holds is one without a user', async () => {
    for (const email of ['a\0b@example.com', '\ud800@example.com', ' '])
      expect(await signIn(one.ctx, { email, password: PASSWORD }, VISITOR)).toMatchObject({
        ok: false,
        error: { code: 'unauthorized' },
      })
  })

  it('a secret that got another value, or was deleted, opens nothing at the other node', async () => {
    const of = (value: string) => authenticateSecret(other.ctx, value)
    const made = await createSecret(one.ctx, actor(), 'backend')
    if (!made.ok) throw new Error(JSON.stringify(made.error))
    const { secret, value } = made.value
    expect(await of(value)).toMatchObject({ id: secret.id })
    const fresh = await refreshSecret(one.ctx, actor(), secret.id)
    if (!fresh.ok) throw new Error(JSON.stringify(fresh.error))
    await until(async () => (await of(value)) === undefined)
    expect(await of(fresh.value.value)).toMatchObject({ id: secret.id, hint: fresh.value.value.slice(-4) })
    await deleteSecret(one.ctx, actor(), secret.id)
    await until(async () => (await of(fresh.value.value)) === undefined)
  })

  it('what an account says for its tokens counts at the other node', async () => {
    const defaults = () => other.ctx.cache.accountDefaults(one.accountId)
    const { logAdmissions } = await defaults()
    await changeDefaults(one.ctx, actor(), 'logAdmissions', { isEnabled: !logAdmissions })
    await until(async () => (await defaults()).logAdmissions !== logAdmissions)
  })

  it('a publisher is decided on again if its account has changed since the decision', async () => {
    const { token } = await makeToken(one, 'publish')
    const { cache } = one.ctx
    const deny = (deniedCountries: string[]) => changeDefaults(one.ctx, actor(), 'security', { deniedCountries })
    const defaults = cache.accountDefaults.bind(cache)
    const read = vi.spyOn(cache, 'accountDefaults').mockImplementationOnce(async (accountId) => {
      read.mockRestore()
      expect(await deny(['AT'])).toMatchObject({ ok: true })
      return defaults(accountId)
    })
    const attempt = { ...attemptOf({ presented: token }), country: 'AT' }
    const request = { sourceId: null, cut: async () => undefined }
    expect(await admitPublisher(one.ctx, attempt, request)).toMatchObject({ ok: false, status: 401 })
    await deny([])
  })

  it('an admin whose role was lowered while the password of a new user was hashed creates none', async () => {
    const { signedIn } = await make('first@example.com')
    await make('second@example.com')
    const by = {
      kind: 'user',
      id: signedIn.id,
      accountId: one.accountId,
      address: '192.0.2.1',
      requestId: 'r',
    } as const
    const transaction = one.ctx.store.transaction.bind(one.ctx.store)
    const late = vi.spyOn(one.ctx.store, 'transaction').mockImplementationOnce(async (work) => {
      await changeRole(other.ctx, actor(), signedIn.id, 'viewer')
      return transaction(work)
    })
    const made = await createUser(one.ctx, by, { email: 'third@example.com', password: PASSWORD, role: 'admin' })
    late.mockRestore()
    expect(made).toMatchObject({ ok: false, error: { code: 'forbidden' } })
    expect(await list()).toHaveLength(2)
  })

  it('the links of two nodes that start at once make one user, whichever are redeemed, and however often', async () => {
    const codes = [await firstSetupCode(one.ctx, actor()), await firstSetupCode(other.ctx, actor())]
    const redeemed = await Promise.all(
      [one, other, one, other].map((node, at) =>
        redeemSetupCode(
          node.ctx,
          { code: codes[at % 3 === 0 ? 0 : 1] ?? '', email: `u${at}@example.com`, password: PASSWORD },
          VISITOR,
        ),
      ),
    )
    expect(redeemed.filter(({ ok }) => ok)).toHaveLength(1)
    expect(await list()).toHaveLength(1)
  })

  it('a link beside other users makes one too, and of two new passwords for an old one the first counts', async () => {
    await make('first@example.com')
    const code = await createSetupCode(one.ctx, actor(), { role: 'viewer', firstOnly: false })
    const redeemed = await Promise.all(
      [one, other].map(({ ctx }, at) =>
        redeemSetupCode(ctx, { code, email: `u${at}@example.com`, password: PASSWORD }, VISITOR),
      ),
    )
    const [made, ...more] = redeemed.flatMap((one) => (one.ok ? one.value : []))
    if (!made) throw new Error(JSON.stringify(redeemed))
    expect(more).toEqual([])
    const changed = await Promise.all(
      [one, other].map(({ ctx }, at) =>
        changePassword(ctx, made.signedIn, { oldPassword: PASSWORD, newPassword: `${PASSWORD} ${at}` }, VISITOR),
      ),
    )
    expect(changed.filter(({ ok }) => ok)).toHaveLength(1)
  })

  it('sessions that are over are not shown, and a session is noted as used once in minutes', async () => {
    const { signedIn, value } = await make('mine@example.com')
    const { id: userId, session } = signedIn
    const over = { ...session, userId, hash: new Uint8Array(32), expiresAtMs: 1 }
    await one.ctx.store.transaction((tx) => tx.dashboardSessions.insert(over))
    expect(await listOwnSessions(one.ctx, signedIn)).toEqual([session])
    const writes = vi.spyOn(one.ctx.store, 'transaction')
    await findSignedIn(one.ctx, value)
    expect(writes).not.toHaveBeenCalled()
    writes.mockRestore()
  })

  it('a link for the first user waits for a user that another node is about to make', async () => {
    const code = (await firstSetupCode(one.ctx, actor())) ?? ''
    const draft = { accountId: one.accountId, email: 'first@example.com', passwordHash: '', createdAtMs: 1 }
    const statements = vi.spyOn(SqliteConnection.prototype, 'runSync')
    /** SQLite refuses a second writer, which tries again; with PostgreSQL it waits for the lock of a row. */
    const waits = async () =>
      engine === 'SQLite'
        ? statements.mock.results.some(({ type }) => type === 'throw')
        : (await connected(place.url, (client) => client.query(WAITING))).rowCount === 1
    let redeeming: Promise<unknown> | undefined
    let isOver = false
    await one.ctx.store.transaction(async (tx) => {
      await tx.accounts.lock(one.accountId)
      await tx.users.insert({ ...draft, role: 'admin' })
      redeeming = redeemSetupCode(other.ctx, { code, email: 'second@example.com', password: PASSWORD }, VISITOR)
      void redeeming.finally(() => (isOver = true))
      await until(async () => isOver || (await waits()))
      expect(isOver).toBe(false)
    })
    statements.mockRestore()
    expect(await redeeming).toMatchObject({ ok: false, error: { code: 'forbidden' } })
    expect(await list()).toHaveLength(1)
  })

  it('two admins who demote and delete each other at two nodes leave one admin', async () => {
    const [a, b] = [await make('a@example.com'), await make('b@example.com')]
    const done = await Promise.all([
      changeRole(one.ctx, actor(), a.signedIn.id, 'viewer'),
      deleteUser(other.ctx, actor(), b.signedIn.id),
    ])
    expect(done.filter(({ ok }) => ok)).toHaveLength(1)
    expect((await list()).filter(({ role }) => role === 'admin')).toHaveLength(1)
  })

  it('what ends a session ends it at the other node with the next request', async () => {
    const mine = await make('mine@example.com')
    await make('admin@example.com')
    const again = await signIn(other.ctx, { email: 'mine@example.com', password: PASSWORD }, VISITOR)
    if (!again.ok) throw new Error('not signed in')
    const at = (node: TestNode, value: string) => findSignedIn(node.ctx, value)
    expect(await at(other, mine.value)).toEqual({ ok: true, value: mine.signedIn })
    const roles = () =>
      Promise.all((['admin', 'viewer'] as const).map((role) => isSignedIn(other.ctx, mine.value, role)))
    expect(await roles()).toEqual([true, false])
    await changeRole(one.ctx, actor(), mine.signedIn.id, 'viewer')
    expect(await at(other, mine.value)).toMatchObject({ value: { role: 'viewer' } })
    expect(await roles()).toEqual([false, true])
    await signOutEverywhere(one.ctx, actor(), mine.signedIn)
    expect(await at(other, mine.value)).toEqual({ ok: false, error: 'unknown' })
    expect(await at(one, again.value.value)).toEqual({ ok: false, error: 'unknown' })
    const last = await signIn(one.ctx, { email: 'mine@example.com', password: PASSWORD }, VISITOR)
    await deleteUser(other.ctx, actor(), mine.signedIn.id)
    expect(last.ok && (await at(one, last.value.value))).toEqual({ ok: false, error: 'unknown' })
  })

  it('a password that changes while the old one is checked gives no session, nor does a deleted user', async () => {
    const { users } = one.ctx.store.read
    const find = users.findByEmail.bind(users)
    const meanwhile = async (email: string, change: (id: number) => Promise<unknown>) => {
      await make(email)
      const reading = vi.spyOn(users, 'findByEmail').mockImplementationOnce(async (asked) => {
        const user = await find(asked)
        await change(user?.id ?? 0)
        return user
      })
      const signedIn = await signIn(one.ctx, { email, password: PASSWORD }, VISITOR)
      reading.mockRestore()
      return signedIn
    }
    const inTx = (work: (tx: Tx) => Promise<void>) => other.ctx.store.transaction(work)
    const changed = await meanwhile('changed@example.com', (id) => inTx((tx) => tx.users.setPassword(id, 'another')))
    const deleted = await meanwhile('deleted@example.com', (id) => inTx((tx) => tx.users.delete(id)))
    expect([changed, deleted]).toMatchObject([{ error: { code: 'unauthorized' } }, { error: { code: 'unauthorized' } }])
  })
})

it('a server that is given no other cost hashes passwords at the full one, and signs in by them', async () => {
  const node = await startTestNode({ passwordCost: null })
  const { ctx, accountId } = node
  const user = { email: 'ann@example.com', password: PASSWORD }
  const made = await createUser(ctx, cliActor(accountId), { ...user, role: 'admin' })
  const { costLog2, blockSize, parallel } = PASSWORD_COST
  const cost = `$scrypt$ln=${costLog2},r=${blockSize},p=${parallel}$`
  expect(made).toMatchObject({ ok: true, value: { passwordHash: expect.stringContaining(cost) as string } })
  expect(await signIn(ctx, user, VISITOR)).toMatchObject({ ok: true })
  await node.close()
})
