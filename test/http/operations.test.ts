import { readFileSync } from 'node:fs'
import fastify from 'fastify'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { refuseWhenOver } from '../../src/edge/http/operations/routes.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { draining } from '../support/draining.ts'

let sluice: RunningApp
beforeAll(async () => {
  sluice = await runApp({
    flags: { metrics: { secret: 'scrape-me-if-you-can' }, server: { trustedProxies: ['127.0.0.1'] } },
  })
})
afterAll(() => sluice.close())

const bare = (path: string, headers: Record<string, string> = {}) => fetch(sluice.base + path, { headers })

describe('operations', () => {
  it('reports alive and ready without a secret', async () => {
    expect(await (await bare('/healthz')).text()).toBe('ok\n')
    expect(await (await bare('/readyz')).text()).toBe('ready\n')
  })

  it('reports alive and not ready while it drains, with the reason', async () => {
    const { sessions } = sluice.app.ctx
    sessions.drain = draining()
    const answer = await bare('/readyz')
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await answer.text()).toBe('not ready: this node drains\n')
    expect((await bare('/healthz')).status).toBe(200)
    sessions.drain = null
  })

  it('shows metrics to this machine and to clients with the secret, and not through a proxy without it', async () => {
    const metrics = await (await bare('/metrics')).text()
    expect(metrics).toContain('sluice_http_requests_total{method="GET",route="/healthz",status="200"}')
    expect(metrics).toContain('sluice_store_silent_seconds')
    const gauges = Array.from(metrics.matchAll(/^# TYPE (\S+) gauge$/gm), ([, name]) => name)
    expect(gauges.length).toBeGreaterThan(10)
    expect(gauges.filter((name) => name?.endsWith('_total'))).toEqual([])
    const forwarded = { 'x-forwarded-for': '203.0.113.9' }
    expect((await bare('/metrics', forwarded)).status).toBe(401)
    expect((await bare('/metrics', { authorization: 'Bearer wrong' })).status).toBe(401)
    const secret = { ...forwarded, authorization: 'Bearer scrape-me-if-you-can' }
    expect((await bare('/metrics', secret)).status).toBe(200)
  })

  describe('metrics without the secret', () => {
    const PATH = 'GET /metrics HTTP/1.1\r\nConnection: close\r\n'
    const status = async (head: string): Promise<string> => {
      const socket = connect(Number(new URL(sluice.base).port), '127.0.0.1')
      socket.write(`${head}\r\n`)
      const answer = await text(socket)
      return answer.slice(9, 12)
    }

    it.each(['localhost', 'LOCALHOST:9', '127.0.0.1:8080', '127.0.1.1', '[::1]:8080'])('are for %s', async (host) => {
      expect(await status(`${PATH}Host: ${host}\r\n`)).toBe('200')
    })

    it.each([
      ['a page whose name leads to this machine', `${PATH}Host: rebound.example:8080\r\n`],
      ['a name that begins or ends like one of this machine', `${PATH}Host: 127.0.0.1.example\r\n`],
      ['a page of this machine', `${PATH}Host: localhost\r\nOrigin: http://localhost:3000\r\n`],
      ...['X-Forwarded-For', 'X-Forwarded-Host', 'Forwarded', 'Via', 'X-Real-IP'].map((name) => [
        `a proxy that adds ${name}`,
        `${PATH}Host: localhost\r\n${name}: 203.0.113.9\r\n`,
      ]),
      ['nginx as it is by itself', 'GET /metrics HTTP/1.0\r\nHost: 127.0.0.1:8080\r\n'],
    ])('are not for %s', async (_who, head) => {
      expect(await status(head)).toBe('401')
    })
  })

  it('answers 404 where a route finds nothing, and 405 only to methods that no route has', async () => {
    const absent = await bare('/ca.pem')
    expect([absent.status, absent.headers.get('allow')]).toEqual([404, null])
    const posted = await fetch(`${sluice.base}/ca.pem`, { method: 'POST' })
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })

  it.each(['/ca.pem', '/v2/channels', '/hls/a1b2c3/show/index.m3u8'])(
    'answers QUERY at %s as a fault of the client',
    async (path) => {
      const query = async (headers: Record<string, string>) =>
        (await fetch(`${sluice.base}${path}`, { method: 'QUERY', headers })).status
      expect([await query({}), await query({ 'content-type': 'application/json' })]).toEqual([400, 405])
    },
  )

  it('serves the OpenAPI document that is committed', async () => {
    const served = await (await bare('/api/openapi.json')).json()
    const committed = JSON.parse(readFileSync(new URL('../../api/tokens.openapi.json', import.meta.url), 'utf8'))
    // If this fails: npm run generate
    expect(served).toEqual(committed)
  })
})

describe('API secrets', () => {
  it.each<[string, Record<string, string>]>([
    ['none', {}],
    ['an empty one', { authorization: 'Bearer ' }],
    ['a wrong one', { authorization: 'Bearer abcdef' }],
    ['another scheme', { authorization: 'Basic abcdef' }],
    ['one that is too long', { authorization: `Bearer ${'a'.repeat(9000)}` }],
  ])('%s is refused with 401, a challenge and an explanation', async (_name, headers) => {
    const answer = await bare('/api/publish_token/list', headers)
    expect(answer.status).toBe(401)
    expect(answer.headers.get('www-authenticate')).toContain('Bearer')
    const body = (await answer.json()) as { status: string; data: { message: string } }
    expect(body.status).toBe('fail')
    expect(body.data.message).toMatch(/^Unauthorized.*sluice secret create/)
  })

  it('management paths send no CORS headers', async () => {
    const answer = await sluice.call('GET', '/api/publish_token/list', undefined, { origin: 'https://a.example' })
    expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  })

  it('is checked before the body is read', async () => {
    const answer = await sluice.call('POST', '/api/publish_token', '{', { authorization: 'Bearer x' })
    expect(answer.status).toBe(401)
  })
})

describe('the audit record', () => {
  it('names the actor, the change and the address behind a trusted proxy, and never a token value', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.7, 198.51.100.9' }
    const body = { label: 'audited', streams: [{ streamName: 'a' }] }
    const made = await sluice.call('POST', '/api/publish_token', body, headers)
    const { id, token } = made.json.data
    await sluice.call('PUT', `/api/publish_token/${id}`, { label: 'renamed', refreshToken: true }, headers)
    await sluice.call('DELETE', `/api/publish_token/${id}`, undefined, headers)
    const rows = await sluice.app.ctx.store.read.audit.recent(sluice.accountId, 3)
    expect(rows.map((row) => row.action)).toEqual([
      'publish_token.delete',
      'publish_token.update',
      'publish_token.create',
    ])
    for (const row of rows) {
      expect(row).toMatchObject({ subject: String(id), address: '198.51.100.9' })
      expect(row.actor).toEqual({ kind: 'secret', id: expect.any(Number) })
      expect(row.requestId).not.toBeNull()
    }
    const [before, after] = [rows[1]?.before, rows[1]?.after].map((state) => JSON.parse(state ?? ''))
    expect([before, after]).toEqual([
      { label: 'audited', version: 1 },
      { label: 'renamed', version: 2, refreshToken: true },
    ])
    expect(JSON.stringify(rows)).not.toContain(token)
  })
})

test('when its sessions are over, a server that stops tells players to try again, and not that their stream is gone', async () => {
  let isOver = false
  const app = fastify()
  refuseWhenOver(app, () => isOver)
  app.get('/healthz', () => 'ok')
  const asked = async (url: string) => {
    const { statusCode, headers } = await app.inject(url)
    return [statusCode, headers['retry-after']]
  }
  expect(await asked('/hls/a/show/index.m3u8')).toEqual([404, undefined])
  isOver = true
  expect(await asked('/hls/a/show/index.m3u8')).toEqual([503, '1'])
  expect(await asked('/healthz')).toEqual([200, undefined])
})

describe('half a request', () => {
  it('does not keep the server from stopping', async () => {
    const other = await runApp({ flags: { server: { shutdownGraceSeconds: 0 } } })
    const socket = connect(Number(new URL(other.base).port), '127.0.0.1')
    const ended = new Promise((resolve) => socket.on('error', () => undefined).on('close', resolve))
    await new Promise((resolve) => socket.on('connect', resolve))
    socket.write('POST /api/access/check HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n')
    await other.close()
    await ended
  })
})
