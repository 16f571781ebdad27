import { connect } from 'node:net'
import fastify from 'fastify'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { createSecret } from '../../src/commands/accounts/secrets.ts'
import { cliActor, type Context } from '../../src/commands/context.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import type { UpdateReader } from '../../src/commands/streams/accountUpdates.ts'
import type { UpdateHub } from '../../src/commands/streams/updateHub.ts'
import { dashboardEventRoutes } from '../../src/edge/http/dashboard/events.ts'
import { noteTracks } from '../../src/commands/sessions/count.ts'
import { overriding } from '../../src/store/nouns.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { type Browser, browserOf } from '../support/dashboard.ts'
import { FastClock } from '../support/fastClock.ts'
import { openEventStream, type OpenStream } from '../support/eventStream.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'
import { passingStore } from '../support/passingStore.ts'
import { makeToken, publish, view } from '../support/testNode.ts'
import { until } from '../support/until.ts'

const NONE = new Uint8Array()
const VIDEO = { kind: 'video', codec: 'vp8', width: 640, height: 360, config: NONE } as const

/** Webhooks and engines are looked at every ten seconds. */
const clock = new FastClock()
let sluice: RunningApp
let browser: Browser
let token: string
const open: OpenStream[] = []
beforeAll(async () => {
  sluice = await runApp({ clock, flags: { rtmp: { enabled: false } }, engine: new ScriptedEngine() })
  browser = await browserOf(sluice, 'viewer')
  token = (await makeToken(sluice, 'publish')).token
})
afterEach(async () => {
  for (const stream of open.splice(0)) stream.close()
  const { ctx } = sluice.app
  for (const { session } of ctx.sessions.all()) await closeSession(ctx, session.id, 'left')
})
afterAll(async () => {
  await sluice.close()
  clock.close()
})

const at = () => ({ ctx: sluice.app.ctx, accountId: sluice.accountId })

async function follow(as: Browser = browser, headers: Record<string, string> = {}): Promise<OpenStream> {
  const stream = await openEventStream(`${sluice.base}/dashboard/api/events`, { cookie: as.cookie, ...headers })
  open.push(stream)
  return stream
}

describe('GET /dashboard/api/events', () => {
  it('begins with all streams on the air, then says what starts, changes and ends', async () => {
    const publisher = await publish(at(), { presented: token })
    const stream = await follow()
    expect([stream.status, stream.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
    expect(stream.headers.get('cache-control')).toBe('no-store')
    const { data } = await stream.next('reset')
    expect(data).toMatchObject({ why: 'new', viewers: 0, streams: [{ streamName: 'show', health: 'steady' }] })
    const second = await publish(at(), { presented: token, streamName: 'second' })
    await stream.next('streamStarted', { streamName: 'second' })
    noteTracks(at().ctx, publisher.session.id, [VIDEO])
    expect((await stream.next('streamChanged', { streamName: 'show' })).data).toMatchObject({ width: 640 })
    await view(at())
    const figures = await stream.next('figures', { viewers: 1 })
    expect(figures.data.streams).toContainEqual(expect.objectContaining({ streamName: 'show', viewers: 1 }))
    expect(figures.data.streams[0]).not.toHaveProperty('startedOn')
    await closeSession(at().ctx, second.session.id, 'left')
    await stream.next('streamEnded', { streamName: 'second' })
  })

  it('says what users and clients edit, within seconds', async () => {
    const stream = await follow()
    await stream.next('reset')
    await makeToken(sluice, 'subscribe')
    const { data } = await stream.next('edited')
    expect(data.kinds).toContain('subscribe_token')
  })

  it('computes each update once for all readers, with the same ids', async () => {
    const readers = [await follow(), await follow(), await follow(await browserOf(sluice))]
    for (const reader of readers) await reader.next('reset')
    await publish(at(), { presented: token })
    const ids = await Promise.all(readers.map(async (reader) => (await reader.next('streamStarted')).id))
    expect(new Set(ids).size).toBe(1)
  })

  it('goes on after Last-Event-ID with what was missed, or begins again when that id is not known', async () => {
    const first = await follow()
    const { id } = await first.next('reset')
    first.close()
    await publish(at(), { presented: token })
    const again = await follow(browser, { 'last-event-id': id })
    await again.next('streamStarted', { streamName: 'show' })
    expect(again.events.map(({ name }) => name)).not.toContain('reset')
    for (const strange of ['1', 'x-1', `${id}0`, `${id.split('-')[0]}-99999`]) {
      const other = await follow(browser, { 'last-event-id': strange })
      expect((await other.next('reset')).data).toMatchObject({ why: 'missed', streams: [{ streamName: 'show' }] })
    }
  })

  it('says that there are decisions, dry runs too, when the access log has them', async () => {
    const stream = await follow()
    await stream.next('reset')
    const question = {
      action: 'publish',
      protocol: 'whip',
      streamName: 'asked',
      ip: '192.0.2.9',
      token: 'x'.repeat(64),
    }
    expect((await sluice.call('POST', '/api/access/check', question)).json.data.allowed).toBe(false)
    // The job of a server does it every second.
    await sluice.app.ctx.recorder.reconcile()
    expect((await stream.next('decisions')).data).toEqual({ count: 1 })
    const { json } = await sluice.call('GET', '/api/access/log?streamName=asked')
    expect(json.data).toMatchObject([{ streamName: 'asked', source: 'check', allowed: false }])
  })

  it('folds refusals by reason', async () => {
    const stream = await follow()
    await stream.next('reset')
    const expired = { presented: (await makeToken(sluice, 'publish', { streams: [{ streamName: 'other' }] })).token }
    for (let count = 0; count < 3; count += 1) await expect(publish(at(), expired)).rejects.toThrow('refused')
    const counts = () =>
      stream.events.filter(({ name }) => name === 'refusals').flatMap(({ data }) => data.counts as { count: number }[])
    await until(() => counts().reduce((sum, { count }) => sum + count, 0) === 3)
    expect(new Set(counts().map((one) => JSON.stringify({ ...one, count: 0 })))).toEqual(
      new Set(['{"code":"stream_name_not_allowed","count":0}']),
    )
  })

  it('says that a webhook is paused, and that an engine runs', async () => {
    const stream = await follow()
    await stream.next('reset')
    const { speed } = clock
    clock.speed = 20
    onTestFinished(() => void (clock.speed = speed))
    const { store } = at().ctx
    const made = await sluice.call('POST', '/api/webhooks', { url: 'https://example.com/', isFeedHooks: true })
    const id = Number(made.json.data.id)
    const untilMs = clock.now() + 600_000
    await store.transaction((tx) =>
      tx.webhooks.setHealth(id, {
        failuresInRow: 0,
        disabled: { untilMs, reason: [{ code: 'text', values: { text: 'it fails' } }] },
      }),
    )
    const { data } = await stream.next('webhookPaused')
    expect(data).toEqual({ webhookId: String(id), until: new Date(untilMs).toISOString() })
    await store.transaction((tx) => tx.webhooks.setHealth(id, { failuresInRow: 0, disabled: null }))
    await stream.next('webhookResumed', { webhookId: String(id) })
  })

  it('opens with the session of a user only, not with an API secret, and ends soon after the session', async () => {
    const actor = cliActor(sluice.accountId)
    const secret = await createSecret(at().ctx, actor, 'events')
    if (!secret.ok) throw new Error('no secret')
    const url = `${sluice.base}/dashboard/api/events`
    expect((await fetch(url, { headers: { authorization: `Bearer ${secret.value.value}` } })).status).toBe(401)
    expect((await fetch(url, { headers: { cookie: browser.cookie, 'sec-fetch-site': 'cross-site' } })).status).toBe(403)
    const leaving = await browserOf(sluice)
    const stream = await follow(leaving)
    await stream.next('reset')
    expect((await leaving.call('DELETE', '/session')).status).toBe(200)
    await until(() => stream.isOver())
  })

  it('does not show streams of another account', async () => {
    const other = await runApp({ flags: { rtmp: { enabled: false } }, engine: new ScriptedEngine() })
    const theirs = await browserOf(other)
    expect((await fetch(`${sluice.base}/dashboard/api/events`, { headers: { cookie: theirs.cookie } })).status).toBe(
      401,
    )
    await other.close()
  })

  it('has a bound on the streams of a user, and a place is free when one is closed', async () => {
    const many = await browserOf(sluice)
    const streams = []
    for (let count = 0; count < 10; count += 1) streams.push(await follow(many))
    expect((await follow(many)).status).toBe(429)
    streams[0]?.close()
    await until(async () => (await follow(many)).status === 200)
  })
})

/** A connection that reads nothing of its event stream. */
async function openUnread(headers: string, over: Partial<Context> = {}) {
  const readers: UpdateReader[] = []
  let closed = 0
  const hub = {
    open: (reader: UpdateReader) => {
      readers.push(reader)
      return () => (closed += 1)
    },
    stop: () => Promise.resolve(),
  }
  const app = fastify()
  const user = { accountId: 'a1b2c3', id: 1, role: 'admin' }
  app.decorateRequest('user', null)
  app.addHook('onRequest', async (request) => void Object.assign(request, { user }))
  dashboardEventRoutes(app, { ...at().ctx, ...over }, hub as unknown as UpdateHub)
  const address = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  const socket = connect(Number(address.port), address.hostname).pause()
  socket.write(`GET /events HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`)
  await until(() => readers.length === 1)
  return {
    send: (bytes: number) => readers[0]?.send({ id: '1', name: 'figures', json: 'x'.repeat(bytes) }),
    isClosed: () => closed === 1,
    async end() {
      socket.destroy()
      await app.close()
    },
  }
}

it('a reader that does not read is dropped', async () => {
  const unread = await openUnread(`Cookie: ${browser.cookie}\r\n`)
  await until(() => {
    unread.send(1_000_000)
    return unread.isClosed()
  })
  await unread.end()
})

it('a reader that does not read is dropped when its session is over, although it has room', async () => {
  const manual = new ManualClock()
  const unread = await openUnread('', { clock: manual })
  for (let sent = 0; sent < 4; sent++) unread.send(990_000)
  await until(() => {
    manual.advance(1000)
    return unread.isClosed()
  })
  await unread.end()
})

it('a reader whose session cannot be checked is dropped after a minute', async () => {
  const manual = new ManualClock()
  const looks = vi.fn().mockRejectedValue(new StoreUnavailable('away'))
  const { read } = at().ctx.store
  const dashboardSessions = overriding(read.dashboardSessions, { find: looks })
  const store = { ...passingStore(at().ctx.store), read: overriding(read, { dashboardSessions }) }
  const unread = await openUnread(`Cookie: ${browser.cookie}\r\n`, { clock: manual, store })
  for (let count = 1; count <= 3; count++) {
    manual.advance(20_000)
    await until(() => looks.mock.calls.length === count)
  }
  expect(unread.isClosed()).toBe(false)
  await until(() => {
    manual.advance(20_000)
    return unread.isClosed()
  })
  await unread.end()
})

it('a server that stops ends its event streams at once', async () => {
  const stopping = await runApp({ flags: { rtmp: { enabled: false } }, engine: new ScriptedEngine() })
  const { cookie } = await browserOf(stopping)
  const stream = await openEventStream(`${stopping.base}/dashboard/api/events`, { cookie })
  await stream.next('reset')
  // The grace for answers under way is much longer than this test may take.
  const closed = stopping.close()
  await until(() => stream.isOver())
  await closed
})
