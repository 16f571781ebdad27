import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { deleteCredential, listCredentials } from '../../src/commands/accounts/credentials.ts'
import { createSecret, deleteSecret, refreshSecret } from '../../src/commands/accounts/secrets.ts'
import { type Actor, cliActor, type Context } from '../../src/commands/context.ts'
import { changeRole } from '../../src/commands/users/users.ts'
import type { RunningApp } from '../support/app.ts'
import { type ChannelsClient, credential, runChannels } from '../support/channelsClient.ts'
import { browserOf } from '../support/dashboard.ts'
import { RawConnection, requestFor } from '../support/rawConnection.ts'
import { until } from '../support/until.ts'

let live: ChannelsClient
beforeAll(async () => {
  live = await runChannels()
})
afterAll(() => live.close())

const call: RunningApp['call'] = (...sent) => live.running.call(...sent)
const TWICE = ['comes twice; send it once']

describe('a duplicate property', () => {
  it.each([
    [
      'on create',
      'POST',
      '/api/publish_token',
      '{"label":"a","streams":[{"streamName":"s"}],"allowedIpAddresses":["192.0.2.1"],"allowedIpAddresses":[]}',
      'allowedIpAddresses',
    ],
    [
      'with an escape',
      'POST',
      '/api/publish_token',
      String.raw`{"label":"a","streams":[{"streamName":"s"}],"deniedCountries":["NL"],"denied\u0043ountries":[]}`,
      'deniedCountries',
    ],
    [
      'in a list',
      'POST',
      '/api/subscribe_token',
      '{"label":"a","streams":[{"streamName":"s","isRegex":false,"isRegex":true}]}',
      'streams[0].isRegex',
    ],
    ['of a webhook', 'POST', '/api/webhooks', '{"url":"https://a.example","url":"https://b.example"}', 'url'],
    [
      'of a check',
      'POST',
      '/api/access/check',
      '{"action":"publish","protocol":"whip","streamName":"s","ip":"192.0.2.1","ip":"192.0.2.2"}',
      'ip',
    ],
    [
      'of a check, on the framework',
      'POST',
      '/api/access/check/',
      '{"action":"publish","protocol":"whip","streamName":"s","ip":"192.0.2.1","ip":"192.0.2.2"}',
      'ip',
    ],
  ])('is refused by name, and nothing is written: %s', async (_what, method, path, body, name) => {
    const before = (await call('GET', '/api/publish_token/list')).headers.get('x-total-count')
    const { status, json } = await call(method, path, body)
    expect([status, json]).toEqual([
      400,
      { status: 'fail', data: { message: 'Validation errors', errors: { [name]: TWICE } } },
    ])
    expect((await call('GET', '/api/publish_token/list')).headers.get('x-total-count')).toBe(before)
  })

  it('is refused by name under /v2', async () => {
    const { status, json } = await live.v2(
      'POST',
      '/channels',
      '{"name":"a","ingests":[{"type":"rtmp-push","name":"i","name":"j"}]}',
    )
    expect([status, json.code]).toEqual([400, 'validation_failed'])
    expect(json.details).toEqual([{ path: 'ingests[0].name', message: TWICE[0] }])
  })
})

describe('a body', () => {
  const token = { label: 'a', streams: [{ streamName: 'show' }] }

  it.each([
    ['POST', '/api/publish_token', 'data.message'],
    ['POST', '/api/access/check', 'data.message'],
    ['POST', '/v2/channels', 'message'],
  ])('with a content encoding is refused with 415 that names it: %s %s', async (method, path, where) => {
    const headers = {
      'content-encoding': 'gzip',
      'content-type': 'application/json',
      ...(path.startsWith('/v2') ? { authorization: live.authorization } : {}),
    }
    const answer = await call(method, path, gzipSync(JSON.stringify(token)), headers)
    expect(answer.status).toBe(415)
    expect(answer.json).toHaveProperty(where, expect.stringContaining('Content-Encoding'))
    expect(answer.headers.get('accept-encoding')).toBe('identity')
  })

  it('with a content encoding is refused only after authentication', async () => {
    const headers = { 'content-encoding': 'gzip', authorization: 'Bearer nope' }
    expect((await call('POST', '/api/publish_token', gzipSync('{}'), headers)).status).toBe(401)
  })

  it('of SDP with a content encoding is refused in plain text', async () => {
    const headers = { 'content-encoding': 'gzip', 'content-type': 'application/sdp' }
    const answer = await call('POST', '/api/whip/show', gzipSync('v=0'), headers)
    expect([answer.status, answer.text]).toEqual([415, expect.stringContaining('Content-Encoding')])
  })

  it.each([
    ['identity as its encoding', JSON.stringify(token), { 'content-encoding': 'identity' }],
    ['a byte order mark', `\uFEFF${JSON.stringify(token)}`, {}],
    ['a charset', JSON.stringify(token), { 'content-type': 'application/json;charset=utf-8' }],
  ])('with %s is accepted', async (_what, body, headers) => {
    expect((await call('POST', '/api/publish_token', body, headers as Record<string, string>)).status).toBe(200)
  })
})

describe('a request that takes no body', () => {
  let channel: string
  let engine: string
  let ingest: string
  beforeAll(async () => {
    const ingests = [{ name: 'i', type: 'rtmp-push', engines: [{ name: 'e' }] }]
    const made = await live.made('POST', '/channels', { name: 'c', ingests })
    ;[channel, engine, ingest] = [made.id, made.engines[0].id, made.ingests[0].id]
  })

  it('is refused with one, names each property, and changes nothing', async () => {
    const paths = [`/channels/${channel}/start`, `/engines/${engine}/stop`, `/ingests/${ingest}/rotate-key`]
    for (const path of paths) {
      const { status, json } = await live.v2('POST', path, { at: 'tomorrow' })
      expect([status, json.code, json.details]).toEqual([
        400,
        'validation_failed',
        [{ path: 'at', message: 'unknown property at' }],
      ])
    }
    const deleted = await live.v2('DELETE', `/channels/${channel}`, { force: true })
    expect([deleted.status, deleted.json.details[0].path]).toEqual([400, 'force'])
    expect((await live.v2('GET', `/channels/${channel}`)).json.data.status).toBe('stopped')
    const stop = await call('POST', '/api/stream/stop/all', { streamId: 'x' })
    expect([stop.status, Object.keys(stop.json.data.errors)]).toEqual([400, ['streamId']])
    expect((await call('POST', '/api/stream/stop/all', '[]')).json.data.errors).toHaveProperty('body')
  })

  it('accepts an empty body, and a content type without a body', async () => {
    for (const body of [undefined, '', '{}', 'null']) {
      expect((await live.v2('POST', `/engines/${engine}/stop`, body)).status).toBe(204)
      expect((await call('POST', '/api/stream/stop/all', body)).status).toBe(200)
    }
  })

  it('accepts an empty body of any type, as HTTP libraries send it, and no other', async () => {
    for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'application/octet-stream']) {
      const headers = { 'content-type': type }
      expect((await live.v2('POST', `/channels/${channel}/start`, '', headers)).status).toBe(204)
      expect((await live.v2('POST', `/channels/${channel}/stop`, '', headers)).status).toBe(204)
      expect((await call('POST', '/api/stream/stop/all', '', headers)).status).toBe(200)
      expect((await live.v2('POST', '/channels', '', headers)).json.code).toBe('validation_failed')
      const refused = await live.v2('POST', `/channels/${channel}/start`, 'at=now', headers)
      expect([refused.status, refused.json.code]).toEqual([415, 'unsupported_media_type'])
      expect((await live.v2('POST', '/nothing', 'at=now', headers)).status).toBe(404)
    }
  })

  it('reports a missing feature before it reads the body', async () => {
    expect((await live.v2('POST', `/channels/${channel}/custom-endpoints`, { name: 'x' })).status).toBe(501)
  })
})

describe('a body that its client holds back', () => {
  /** What admits a request, and how that ends. `looks`: the looks at it. */
  interface Admitting {
    readonly path: string
    readonly headers: Record<string, string>
    readonly looks: { readonly mock: { readonly settledResults: readonly { type: string }[] }; mockRestore(): void }
    readonly end: () => Promise<unknown>
  }

  const made = async (ctx: Context) => {
    const secret = await createSecret(ctx, cliActor(live.running.accountId), `held ${Math.random()}`)
    if (!secret.ok) throw new Error(JSON.stringify(secret.error))
    const { value, secret: stored } = secret.value
    const looks = vi.spyOn(ctx.cache, 'secretByValue')
    return { id: stored.id, looks, path: '/api/publish_token', headers: { authorization: `Bearer ${value}` } }
  }
  const ofBrowser = async (ctx: Context) => {
    const browser = await browserOf(live.running)
    const headers = { cookie: browser.cookie, 'x-sluice-dashboard': '1' }
    return { browser, looks: vi.spyOn(ctx.store.read.dashboardSessions, 'find'), path: '/dashboard/api/users', headers }
  }
  const cases: Record<string, (ctx: Context, actor: Actor) => Promise<Admitting>> = {
    async 'API secret was deleted'(ctx, actor) {
      const secret = await made(ctx)
      return { ...secret, end: () => deleteSecret(ctx, actor, secret.id) }
    },
    async 'API secret has another value'(ctx, actor) {
      const secret = await made(ctx)
      return { ...secret, end: () => refreshSecret(ctx, actor, secret.id) }
    },
    async 'credential was deleted'(ctx, actor) {
      const authorization = await credential(live.running, 'write')
      const { id = 0 } = (await listCredentials(ctx, actor.accountId)).toSorted((a, b) => a.id - b.id).at(-1) ?? {}
      const looks = vi.spyOn(ctx.store.read.credentials, 'findByKey')
      const end = () => deleteCredential(ctx, actor, id)
      return { path: '/v2/channels', headers: { authorization }, looks, end }
    },
    async 'session has ended'(ctx) {
      const { browser, ...admitting } = await ofBrowser(ctx)
      return { ...admitting, end: () => browser.call('DELETE', '/session') }
    },
    async 'role was lowered'(ctx, actor) {
      const { browser, ...admitting } = await ofBrowser(ctx)
      await browserOf(live.running)
      return { ...admitting, end: () => changeRole(ctx, actor, browser.id, 'viewer') }
    },
  }

  const BODIES: Record<string, object> = {
    '/api/publish_token': { label: 'held back', streams: [{ streamName: 'held' }] },
    '/v2/channels': { name: 'held back' },
    '/dashboard/api/users': { email: 'held@example.com', password: 'correct horse battery', role: 'admin' },
  }

  it.each(Object.entries(cases))('changes nothing once its %s', async (why, admitting) => {
    const { ctx } = live.running.app
    const actor = cliActor(live.running.accountId)
    const { path, headers, looks, end } = await admitting(ctx, actor)
    const text = JSON.stringify(BODIES[path])
    const connection = await RawConnection.to(live.running.base)
    const length = { 'content-type': 'application/json', 'content-length': `${text.length}` }
    connection.socket.write(requestFor(path, { ...headers, ...length }, 'POST'))
    await until(() => looks.mock.settledResults.some(({ type }) => type === 'fulfilled'))
    await end()
    const before = await ctx.store.read.audit.recent(actor.accountId, 1)
    connection.socket.write(text)
    const answer = await connection.answer()
    looks.mockRestore()
    connection.socket.destroy()
    expect([answer.status, answer.body.toString()]).toEqual([
      why.startsWith('role') ? 403 : 401,
      expect.stringMatching(/not valid|has ended|your role is viewer/),
    ])
    expect(await ctx.store.read.audit.recent(actor.accountId, 1)).toEqual(before)
  })
})

describe('a name', () => {
  it.each([' ', '\u3000\u00a0', '\u200b'])('without a visible character is refused: %j', async (name) => {
    const why = 'must have a character that can be seen'
    const channel = await live.v2('POST', '/channels', { name, ingests: [{ name, type: 'rtmp-push' }] })
    expect([channel.status, channel.json.details]).toEqual([
      400,
      [
        { path: 'name', message: why },
        { path: 'ingests[0].name', message: why },
      ],
    ])
    const token = await call('POST', '/api/publish_token', { label: name, streams: [{ streamName: 's' }] })
    expect(token.json.data.errors).toEqual({ label: [why] })
    const ladder = await live.v2('POST', '/webhooks', { name, url: 'https://a.example', events: ['*'] })
    expect(ladder.json.details).toEqual([{ path: 'name', message: why }])
  })

  it('may contain spaces and any script', async () => {
    for (const name of ['Main stage', 'スタジオ', '👩‍🚀']) {
      expect((await live.v2('POST', '/channels', { name })).status).toBe(200)
    }
  })
})
