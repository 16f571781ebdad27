import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCredential, deleteCredential } from '../../src/commands/accounts/credentials.ts'
import { createSecret, deleteSecret, refreshSecret } from '../../src/commands/accounts/secrets.ts'
import { room } from '../../src/commands/channels/channelCommand.ts'
import { createIngest, deleteIngest, findByStreamKey } from '../../src/commands/channels/ingests.ts'
import { createLadder } from '../../src/commands/channels/ladders.ts'
import { createScheduler } from '../../src/commands/channels/schedules/schedulers.ts'
import { createChannelWebhook } from '../../src/commands/channels/webhooks/webhooks.ts'
import { cliActor } from '../../src/commands/context.ts'
import { createPull } from '../../src/commands/pulls/pulls.ts'
import { deletePasskey } from '../../src/commands/users/passkeys.ts'
import { createSetupCode, redeemSetupCode } from '../../src/commands/users/setup.ts'
import { createWebhook } from '../../src/commands/webhooks/webhooks.ts'
import { defaultLadder } from '../../src/core/channels/ladder.ts'
import { CHILDREN_MAX } from '../../src/core/channels/types.ts'
import { offTarget } from '../../src/core/restream/state.ts'
import { overriding } from '../../src/store/nouns.ts'
import type { Tx } from '../../src/store/store.ts'
import { newScheduler, newWebhook } from '../conformance/store.samples.ts'
import { passingStore, waitingStore } from '../support/passingStore.ts'
import { makeToken, startTestNode, type TestNode } from '../support/testNode.ts'

type Context = TestNode['ctx']
interface Owner {
  readonly accountId: string
  readonly tokenId: number
}

/** What an account has at most so many of: adds one to the store, and has a command create one. */
interface Limited {
  readonly most: number
  readonly add: (tx: Tx, of: Owner, id: string) => Promise<unknown>
  readonly count: (tx: Tx, of: Owner) => Promise<number>
  readonly create: (ctx: Context, of: Owner) => Promise<{ readonly ok: boolean }>
}

const URL = 'https://hooks.example.org/'
const RUNG = { width: 640, height: 360, bitrate: 800_000 }
const DAY = { startDate: '2100-01-01', startTime: '10:00', endTime: '11:00' }
const TIMES = { createdAtMs: 1, updatedAtMs: 1 }

const LIMITED: Record<string, Limited> = {
  'API secrets': {
    most: 1000,
    add: (tx, { accountId }, name) =>
      tx.secrets.insert({ accountId, name, hint: '', createdAtMs: 1, refreshedAtMs: null, hash: randomBytes(32) }),
    count: async (tx, { accountId }) => (await tx.secrets.list(accountId)).length,
    create: (ctx, { accountId }) => createSecret(ctx, cliActor(accountId), 'one more'),
  },
  credentials: {
    most: 1000,
    add: (tx, { accountId }, key) =>
      tx.credentials.insert({ accountId, name: key, key, scope: 'read', createdAtMs: 1, secretHash: randomBytes(32) }),
    count: async (tx, { accountId }) => (await tx.credentials.list(accountId)).length,
    create: (ctx, { accountId }) => createCredential(ctx, cliActor(accountId), 'one more', 'read'),
  },
  webhooks: {
    most: 1000,
    add: (tx, { accountId }) => tx.webhooks.insert(newWebhook({ accountId })),
    count: async (tx, { accountId }) => (await tx.webhooks.forAccount(accountId)).length,
    create: (ctx, { accountId }) => createWebhook(ctx, cliActor(accountId), { url: URL }),
  },
  'webhooks of channels': {
    most: 1000,
    add: (tx, { accountId }, id) => {
      const rules = { name: id, url: URL, events: ['*'] as const, description: '', active: false }
      const health = { secretSealed: new Uint8Array(), failuresInRow: 0, disabled: null }
      return tx.channelWebhooks.insert({ id, accountId, ...rules, ...health, ...TIMES })
    },
    count: (tx, { accountId }) => tx.channelWebhooks.count(accountId),
    create: (ctx, { accountId }) =>
      createChannelWebhook(ctx, cliActor(accountId), { name: 'one more', url: URL, events: ['*'] }),
  },
  'users that links make': {
    most: 500,
    add: (tx, { accountId }, id) =>
      tx.users.insert({ accountId, email: `${id}@example.com`, passwordHash: '', role: 'viewer', createdAtMs: 1 }),
    count: async (tx, { accountId }) => (await tx.users.list(accountId)).length,
    create: async (ctx, { accountId }) => {
      const code = await createSetupCode(ctx, cliActor(accountId), { role: 'viewer', firstOnly: false })
      const visitor = { address: '192.0.2.1', requestId: 'r', userAgent: 'Browser', value: null }
      const email = `${randomBytes(4).toString('hex')}@example.org`
      return redeemSetupCode(ctx, { code, email, password: 'correct horse battery' }, visitor)
    },
  },
  pulls: {
    most: 200,
    add: (tx, { accountId, tokenId }, label) =>
      tx.pulls.insert({
        accountId,
        tokenId,
        streamName: 'show',
        label,
        urlSealed: new Uint8Array(),
        shownUrl: '',
        enabled: false,
        when: 'always',
        version: 1,
        addedAtMs: 1,
        demandAtMs: 0,
        node: null,
        state: offTarget(1),
      }),
    count: async (tx, { accountId }) => (await tx.pulls.list(accountId)).length,
    create: (ctx, { accountId, tokenId }) =>
      createPull(ctx, cliActor(accountId), { tokenId, streamName: 'show', url: 'rtsp://camera.example.com/' }),
  },
  'ABR ladders': {
    most: 100,
    add: (tx, { accountId }, id) => tx.abrLadders.insert({ ...defaultLadder(accountId), id }),
    count: async (tx, { accountId }) => (await tx.abrLadders.list(accountId)).length,
    create: (ctx, { accountId }) => createLadder(ctx, cliActor(accountId), { name: 'one more', video: [RUNG] }),
  },
  schedulers: {
    most: 1000,
    add: (tx, { accountId }) => tx.schedulers.insert(newScheduler({ accountId })),
    count: (tx, { accountId }) => tx.schedulers.count(accountId),
    create: async (ctx, { accountId }) => {
      const { id } = await newChannel(ctx, accountId)
      return createScheduler(ctx, cliActor(accountId), { name: 'one more', ...DAY, channelIds: [id] })
    },
  },
}

let node: TestNode
let ctx: Context
let owner: Owner
beforeAll(async () => {
  node = await startTestNode()
  ctx = node.ctx
  owner = { accountId: node.accountId, tokenId: (await makeToken(node, 'publish')).id }
})
afterAll(() => node.close())

test('of two deletions of a secret or a credential, the second says that there is none', async () => {
  const actor = cliActor(owner.accountId)
  const secret = await createSecret(ctx, actor, 'main')
  const credential = await createCredential(ctx, actor, 'main', 'read')
  if (!secret.ok || !credential.ok) throw new Error('not created')
  const ids = { secret: secret.value.secret.id, credential: credential.value.credential.id }
  const none = { ok: false, error: { code: 'not_found' } }
  const inSecrets = { ...ctx, store: waitingStore(ctx.store, 'secrets', (tx) => tx.secrets.delete(ids.secret)) }
  expect(await deleteSecret(inSecrets, actor, ids.secret)).toMatchObject(none)
  expect(await refreshSecret(ctx, actor, ids.secret)).toMatchObject(none)
  const inCredentials = {
    ...ctx,
    store: waitingStore(ctx.store, 'credentials', (tx) => tx.credentials.delete(ids.credential)),
  }
  expect(await deleteCredential(inCredentials, actor, ids.credential)).toMatchObject(none)
  const actions = (await ctx.store.read.audit.recent(owner.accountId, 10)).map(({ action }) => action)
  expect(actions.filter((action) => action.endsWith('.delete'))).toEqual([])
})

test('of two deletions of an ingest, whose key was good over its own protocol, the second says that there is none', async () => {
  const actor = cliActor(owner.accountId)
  const { id } = await newChannel(ctx, owner.accountId)
  const made = await createIngest(ctx, actor, id, { name: 'Camera', type: 'rtmp-push' })
  if (!made.ok) throw new Error(JSON.stringify(made.error))
  const { id: ingestId } = made.value
  const found = (protocol: 'rtmp' | 'srt') => findByStreamKey(ctx, made.value.streamKey ?? '', protocol)
  expect([await found('rtmp'), await found('srt')]).toMatchObject([{ id: ingestId }, undefined])
  const store = waitingStore(ctx.store, 'channels', (tx) => tx.ingests.delete(ingestId))
  expect(await deleteIngest({ ...ctx, store }, actor, ingestId)).toMatchObject({ error: { code: 'not_found' } })
})

test('a channel has no more parts of a kind than the limit', () => {
  expect([room('engines', CHILDREN_MAX - 1).ok, room('engines', CHILDREN_MAX).ok]).toEqual([true, false])
})

test('of two deletions of a passkey, the second says that there is none', async () => {
  const { accountId } = owner
  const user = await ctx.store.transaction(async (tx) => {
    const made = await tx.users.insert({
      accountId,
      email: 'a@example.com',
      passwordHash: '',
      role: 'admin',
      createdAtMs: 1,
    })
    const key = { publicKey: new Uint8Array([1]), signCount: 0, transports: [], rpId: 'example.com', usedAtMs: null }
    await tx.passkeys.insert({ id: 'key', userId: made.id, name: 'Phone', createdAtMs: 1, ...key })
    return made
  })
  /** It is deleted right after this transaction has read it. */
  const raced = (tx: Tx): Tx => {
    const list = async (userId: number) => {
      const found = await tx.passkeys.list(userId)
      await tx.passkeys.delete(userId, 'key')
      return found
    }
    return overriding(tx, { passkeys: overriding(tx.passkeys, { list }) })
  }
  const { store } = ctx
  const within = {
    ...ctx,
    store: {
      ...passingStore(store),
      transaction: <T>(work: (tx: Tx) => Promise<T>) => store.transaction((tx) => work(raced(tx))),
    },
  }
  const session = { id: 1, userId: user.id, createdAtMs: 1, seenAtMs: 1, expiresAtMs: 1, address: '', userAgent: '' }
  expect(await deletePasskey(within, cliActor(accountId), { ...user, session }, 'key')).toMatchObject({
    ok: false,
    error: { code: 'not_found' },
  })
})

test.each(Object.entries(LIMITED))(
  'of %s, an account has no more than the limit, though two creations meet',
  async (_, { most, add, count, create }) => {
    const { store } = ctx
    const fill = (tx: Tx, n: number) =>
      Promise.all(Array.from({ length: n }, (__, at) => add(tx, owner, `id${n}_${at}`)))
    await store.transaction(async (tx) => fill(tx, most - 2 - (await count(tx, owner))))
    expect(await create(ctx, owner)).toMatchObject({ ok: true })
    const waiting = { ...ctx, store: waitingStore(store, 'accounts', (tx) => fill(tx, 1)) }
    expect(await create(waiting, owner)).toMatchObject({ ok: false })
    expect(await create(ctx, owner)).toMatchObject({ ok: false })
    expect(await store.transaction((tx) => count(tx, owner))).toBe(most)
  },
)

async function newChannel({ store }: Context, accountId: string): Promise<{ id: string }> {
  const id = `ch_${randomBytes(8).toString('hex')}`
  const channel = { id, accountId, name: 'Stage', externalIds: [], timeoutSeconds: 0, status: 'stopped' } as const
  await store.transaction((tx) => tx.channels.insert({ ...channel, slate: null, createdAtMs: 1 }))
  return { id }
}
