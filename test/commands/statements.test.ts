import { AsyncLocalStorage } from 'node:async_hooks'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { createCredential } from '../../src/commands/accounts/credentials.ts'
import { cliActor } from '../../src/commands/context.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { countBytes, writeCounts } from '../../src/commands/sessions/count.ts'
import { begin } from '../../src/delivery/begin.ts'
import { fanOut } from '../../src/delivery/fanOut.ts'
import { deliveryEndOf, recordEnds } from '../../src/delivery/record.ts'
import { headerProfile } from '../../src/delivery/signature.ts'
import type { Executor, Query } from '../../src/store/executor.ts'
import { PgExecutor } from '../../src/store/postgres/session.ts'
import { SqliteConnection } from '../../src/store/sqlite/connection.ts'
import { addWebhook, emit, SECRET } from '../support/delivery.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import { type Connection, makeToken, publish, startTestNode, type TestNode, view } from '../support/testNode.ts'

/**
 * Statements of requests, with the check of the secret or credential, and without begin and commit. First those of publishers
 * and players, thousands of which come at once when a popular stream begins or ends; then what happens to streams all the
 * time; then those with which sites manage tokens and channels, and what writes most rows. None depends on the number of rows
 * in its batch, page or channel, but for five of each engine that starts.
 */
const STATEMENTS = {
  'an access check of a token that is not in memory': 1,
  // On PostgreSQL it locks its stream, and its publishers, by statements of their own.
  'a publisher by WHIP whose media begins': { SQLite: 12, PostgreSQL: 14 },
  'a viewer by WHEP': 4,
  'a viewer by WHEP of a token with a limit': 10,
  'the end of five viewers': 1,
  'the end of five viewers of a token with a limit': 7,
  'the bytes of five viewers': 3,
  'four deliveries to a webhook': 11,
  'the creation of a token': 4,
  'the update of a token': 4,
  'a page of tokens': 2,
  'the creation of a channel with an ingest, three engines and ten distributions': 8,
  'a channel with all that it includes': 6,
  'a page of channels': 2,
  'a page of a hundred distributions with keys': 4,
  'the start of a channel with three engines': 20,
  'the deletion of a channel with an ingest, three engines and ten distributions': 11,
}
type RequestName = keyof typeof STATEMENTS
type AnyRequest = () => Promise<unknown>

const counting = new AsyncLocalStorage<string[]>()

function countStatementsOf(executor: Executor): void {
  const execute = Reflect.get(executor, 'execute')
  vi.spyOn(executor, 'execute').mockImplementation(function (this: Executor, query: Query) {
    counting.getStore()?.push(query.sql)
    return execute.call(this, query)
  })
}

/** The statements that a request causes, and no job beside it. */
async function statementsOf(request: AnyRequest): Promise<string[]> {
  const statements: string[] = []
  await counting.run(statements, request)
  return statements
}

const FIVE = [1, 2, 3, 4, 5]
const KEY = { key: 'k'.repeat(32) }

describe.each(testedStores())('on %s', (engine) => {
  let place: Place
  let at: TestNode
  let authorization: string
  beforeAll(async () => {
    countStatementsOf(SqliteConnection.prototype)
    countStatementsOf(PgExecutor.prototype)
    place = await newPlace(engine)
    at = await startTestNode({ url: place.url, clock: new ManualClock() })
    const made = await createCredential(at.ctx, cliActor(at.accountId), 'site', 'write')
    if (!made.ok) throw new Error('no credential')
    authorization = `Basic ${Buffer.from(made.value.value).toString('base64')}`
  })
  afterAll(async () => {
    await at.close()
    await place.remove()
    vi.restoreAllMocks()
  })

  /** The data of an answer. Throws on a refusal. */
  const answerOf = async (...[method, path, body]: Parameters<TestNode['call']>) => {
    const headers = path.startsWith('/v2') ? { authorization } : {}
    const { status, json } = await at.call(method, path, body, headers)
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(json)}`)
    return json?.data
  }
  const wholeChannel = () => ({
    name: 'Stage',
    ingests: [{ name: 'Camera', type: 'rtmp-push', engines: ['a', 'b', 'c'].map((name) => ({ name })) }],
    distributions: Array.from({ length: 10 }, (_, n) => ({ name: `d${n}`, security: { keys: [KEY] } })),
  })
  const newChannel = async (): Promise<string> => (await answerOf('POST', '/v2/channels', wholeChannel())).id
  /** The next viewer of a limited token, after `count` others. */
  const limitedViewer = async (count: number): Promise<() => Promise<Connection>> => {
    const { token } = await makeToken(at, 'publish')
    const { token: presented } = await makeToken(at, 'subscribe', { maxViewers: 5 })
    await publish(at, { presented: token, streamName: token })
    for (let n = 0; n < count; n++) await view(at, { presented, streamName: token })
    return () => view(at, { presented, streamName: token })
  }
  /** Viewers of a stream on the air, who have received something. */
  const fiveViewers = async () => {
    const { token } = await makeToken(at, 'publish', { subscribeRequiresAuth: false })
    await publish(at, { presented: token, streamName: token })
    const viewers = await Promise.all(FIVE.map(() => view(at, { streamName: token })))
    for (const { session } of viewers) countBytes(at.ctx, session.id, { bytesIn: 0, bytesOut: 1000 })
    return viewers.map(({ session }) => session.id)
  }

  const requests: Record<RequestName, () => Promise<AnyRequest>> = {
    'an access check of a token that is not in memory': async () => {
      const { id, token } = await makeToken(at, 'publish')
      at.ctx.cache.forgetToken(id)
      const question = { action: 'publish', protocol: 'whip', ip: '192.0.2.1', streamName: 'show', token }
      return () => answerOf('POST', '/api/access/check', question)
    },
    'a publisher by WHIP whose media begins': async () => {
      const { token } = await makeToken(at, 'publish')
      return () => publish(at, { presented: token, streamName: 'begun' })
    },
    'a viewer by WHEP': async () => {
      const { token } = await makeToken(at, 'publish')
      await publish(at, { presented: token, streamName: 'watched' })
      await view(at, { streamName: 'watched' })
      return () => view(at, { streamName: 'watched' })
    },
    'a viewer by WHEP of a token with a limit': () => limitedViewer(1),
    'the end of five viewers of a token with a limit': async () => {
      const next = await limitedViewer(0)
      const ids = (await Promise.all(FIVE.map(next))).map(({ session }) => session.id)
      return () => Promise.all(ids.map((id) => closeSession(at.ctx, id, 'left')))
    },
    'the end of five viewers': async () => {
      const ids = await fiveViewers()
      return () => Promise.all(ids.map((id) => closeSession(at.ctx, id, 'left')))
    },
    'the bytes of five viewers': async () => {
      await fiveViewers()
      return () => writeCounts(at.ctx, Number.POSITIVE_INFINITY)
    },
    'four deliveries to a webhook': async () => {
      const { id: webhookId } = await addWebhook(at.ctx.store, at.accountId, 'https://hooks.example.org/')
      const { store, clock, random } = at.ctx
      await store.transaction((tx) => fanOut(tx, [], clock.now(), random))
      await emit(store, at.accountId, 'a', 'b', 'c', 'd')
      const openSecret = () => SECRET
      const how = { sender: { profile: headerProfile(), userAgent: 'Sluice/test', openSecret }, node: 'n', cap: 4 }
      return async () => {
        await store.transaction((tx) => fanOut(tx, [], clock.now(), random))
        const claims = [{ webhookId, take: 4 }]
        const { started } = await store.transaction((tx) => begin(tx, claims, { ...how, nowMs: clock.now() }))
        expect(started).toHaveLength(4)
        const outcome = { kind: 'answered', status: 200, durationMs: 1, answer: '', truncated: false } as const
        const ends = started.map(({ id }) =>
          deliveryEndOf({ id, webhookId, url: 'https://example.com/' }, outcome, clock.now()),
        )
        await store.transaction((tx) => recordEnds(tx, 'n', ends, random))
      }
    },
    'the creation of a token': async () => () => makeToken(at, 'publish'),
    'the update of a token': async () => {
      const { id } = await makeToken(at, 'publish')
      return () => answerOf('PUT', `/api/publish_token/${id}`, { label: 'new' })
    },
    'a page of tokens': async () => {
      for (const _ of FIVE) await makeToken(at, 'publish')
      return () => answerOf('GET', '/api/publish_token/list')
    },
    'the creation of a channel with an ingest, three engines and ten distributions': async () => newChannel,
    'a channel with all that it includes': async () => {
      const id = await newChannel()
      return () => answerOf('GET', `/v2/channels/${id}?include=ingests,engines,distributions`)
    },
    'a page of channels': async () => {
      await Promise.all(FIVE.map(newChannel))
      return () => answerOf('GET', '/v2/channels')
    },
    'a page of a hundred distributions with keys': async () => {
      const id = await newChannel()
      const { store } = at.ctx
      const [distribution] = await store.read.distributions.ofChannel(id)
      const [key] = await store.read.distributionKeys.list(distribution?.id ?? '')
      if (!distribution || !key) throw new Error('no distribution with a key')
      const more = Array.from({ length: 90 }, (_, n) => ({ ...distribution, id: `di_more${n}`, name: `more ${n}` }))
      const keys = more.map((one, n) => ({ ...key, id: `ke_more${n}`, distributionId: one.id }))
      await store.transaction(async (tx) => {
        await tx.distributions.insert(...more)
        await tx.distributionKeys.insert(...keys)
      })
      return async () => expect(await answerOf('GET', `/v2/channels/${id}/distributions?limit=100`)).toHaveLength(100)
    },
    'the start of a channel with three engines': async () => {
      const id = await newChannel()
      return () => answerOf('POST', `/v2/channels/${id}/start`)
    },
    'the deletion of a channel with an ingest, three engines and ten distributions': async () => {
      const id = await newChannel()
      return () => answerOf('DELETE', `/v2/channels/${id}`)
    },
  }

  it.each(Object.keys(STATEMENTS) as RequestName[])('%s needs as many statements as it should', async (name) => {
    const request = await requests[name]()
    const statements = await statementsOf(request)
    const expected = STATEMENTS[name]
    const count = typeof expected === 'number' ? expected : expected[engine]
    expect(statements.length, statements.join('\n')).toBe(count)
  })
})
