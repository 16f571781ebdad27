import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { runApp, type RunningApp } from '../support/app.ts'
import { forwardedPrefix } from '../../src/edge/http/peer.ts'
import { makeToken } from '../support/testNode.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'

const OFFER = 'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n'
const FRAGMENT = 'a=ice-ufrag:EsAw\r\na=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1\r\n'
const ICE = ['stun:stun.example.com:3478', 'turn:turn.example.com:3478?transport=udp viewer secret']

let sluice: RunningApp
const engine = new ScriptedEngine()
let publish: string
let secured: string
let subscribe: string

beforeAll(async () => {
  sluice = await runApp({
    engine,
    flags: { webrtc: { iceServers: ICE, pendingOffers: 2 }, server: { trustedProxies: ['127.0.0.1'] } },
  })
  const streams = [{ streamName: 'show' }, { streamName: 'studio.*', isRegex: true }]
  publish = (await makeToken(sluice, 'publish', { streams })).token
  const vip = [{ streamName: 'vip' }]
  secured = (await makeToken(sluice, 'publish', { streams: vip, subscribeRequiresAuth: true })).token
  subscribe = (await makeToken(sluice, 'subscribe', { streams: vip })).token
  await goOnAir('/api/whip/show', publish)
  await goOnAir('/api/whip/vip', secured)
  engine.asked.length = 0
})
afterAll(() => sluice.close())

afterEach(async () => {
  engine.negotiated = async () => ({ ok: true, answer: 'v=0\r\n', etag: 'first' })
  engine.patched = async () => ({ ok: true, answer: null, etag: 'first' })
  engine.asked.length = engine.ended.length = engine.patches.length = 0
})

type Headers = Record<string, string>
const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` })

async function send(method: string, path: string, headers: Headers = {}, body?: string | Uint8Array) {
  const response = await fetch(sluice.base + path, {
    method,
    headers,
    ...(body === undefined ? {} : { body: body as string }),
  })
  return { status: response.status, text: await response.text(), header: (name: string) => response.headers.get(name) }
}

test('the address of a session has the path prefix that a trusted proxy removed, and no other', async () => {
  const locationWith = async (prefix: string) => {
    const answer = await offer('/api/whip/show', { ...bearer(publish), 'x-forwarded-prefix': prefix })
    return answer.header('location')?.replace(/[^/]+$/, '')
  }
  expect(await locationWith('/live/tv/')).toBe('/live/tv/api/whip/resource/')
  for (const wrong of ['//evil.example', 'https://evil.example', '/a?b', '/a b', '/'])
    expect(await locationWith(wrong)).toBe('/api/whip/resource/')
  const headers = { 'x-forwarded-prefix': '/live' }
  const from = (remoteAddress: string) =>
    forwardedPrefix(({ text }) => text === '10.0.0.1', { headers, socket: { remoteAddress } })
  expect([from('10.0.0.1'), from('10.0.0.2')]).toEqual(['/live', ''])
})

const offer = (path: string, headers: Headers, body: string | Uint8Array = OFFER) =>
  send('POST', path, { 'content-type': 'application/sdp', ...headers }, body)

async function goOnAir(path: string, token: string): Promise<void> {
  await begin(path, bearer(token))
  engine.emit({ kind: 'connected', sessionId: engine.asked.at(-1)!.sessionId, address: '127.0.0.1' })
  const [, , , name = ''] = path.split('/')
  await vi.waitUntil(() => sluice.app.ctx.sessions.feeds.onAir(sluice.accountId, name), { timeout: 30_000 })
}

const isOn = () => sluice.app.ctx.sessions.has(engine.asked.at(-1)!.sessionId)

/** A session, and the path of its resource. */
async function begin(path = '/api/whip/show', headers = bearer(publish)): Promise<string> {
  const answer = await offer(path, headers)
  expect(answer.status).toBe(201)
  return answer.header('location')!
}

const patch = (at: string, headers: Headers = { 'if-match': '"first"' }, body: string | Uint8Array = FRAGMENT) =>
  send('PATCH', at, { 'content-type': 'application/trickle-ice-sdpfrag', ...headers }, body)

/** Sends `count` PATCHes over one connection without waiting for answers; resolves with the status of each. */
async function patchAtOnce(at: string, count: number): Promise<string[]> {
  const { port } = new URL(sluice.base)
  const socket = connect(Number(port), '127.0.0.1')
  const head = `PATCH ${at} HTTP/1.1\r\nHost: a\r\nIf-Match: "first"\r\nContent-Type: application/trickle-ice-sdpfrag`
  socket.write(`${head}\r\nContent-Length: ${FRAGMENT.length}\r\n\r\n${FRAGMENT}`.repeat(count))
  let text = ''
  for await (const chunk of socket.setEncoding('utf8')) {
    text += chunk
    // The last status may come in two pieces.
    if ((text.match(/HTTP\/1\.1 \d{3}/g)?.length ?? 0) >= count) break
  }
  return text
    .split('HTTP/1.1 ')
    .slice(1)
    .map((answer) => answer.slice(0, 3))
}

describe('an offer', () => {
  test('of a publisher gets 201, the answer, and every header that a client needs', async () => {
    const answer = await offer('/api/whip/show?codec=H264&sourceId=main&x=1', bearer(publish))
    expect(answer).toMatchObject({ status: 201, text: 'v=0\r\n' })
    expect(answer.header('content-type')).toBe('application/sdp')
    expect(answer.header('location')).toMatch(/^\/api\/whip\/resource\/[\w-]{43}$/)
    expect(answer.header('etag')).toBe('"first"')
    expect(answer.header('link')).toBe(
      '<stun:stun.example.com:3478>; rel="ice-server", <turn:turn.example.com:3478?transport=udp>; rel="ice-server"; ' +
        'username="viewer"; credential="secret"; credential-type="password"',
    )
    const room = `${sluice.accountId}/show`
    expect(engine.asked).toMatchObject([{ kind: 'publish', room, sourceId: 'main', codec: 'h264', offer: OFFER }])
  })

  test.each([
    ['audioOnly', 'video'],
    ['videoOnly', 'audio'],
    ['noAudio=true', 'audio'],
    ['fps=30', null],
  ])('of a publisher with %s leaves out: %s', async (query, without) => {
    expect((await offer(`/api/whip/studio?${query}`, bearer(publish))).status).toBe(201)
    expect(engine.asked).toMatchObject([{ kind: 'publish', without }])
  })

  test('of a viewer takes no parameters of publishers', async () => {
    const path = `/api/whep/${sluice.accountId}/show?simulcastId=a&priority=3&audioOnly&videoOnly`
    expect((await offer(path, {})).status).toBe(201)
  })

  test('of a viewer of an open stream needs no token', async () => {
    const answer = await offer(`/api/whep/${sluice.accountId}/show`, {})
    expect(answer.status).toBe(201)
    expect(answer.header('location')).toMatch(/^\/api\/whep\/resource\/[\w-]{43}$/)
    expect(engine.asked).toMatchObject([
      { kind: 'view', room: `${sluice.accountId}/show`, sourceId: null, offer: OFFER },
    ])
  })

  test.each([
    ['the scheme in any case', () => ({ authorization: `bEARER ${publish}` }), ''],
    ['a token without a scheme', () => ({ authorization: publish }), ''],
    ['the query', () => ({}), () => `?auth=${publish}`],
    ['the query when the header is empty', () => ({ authorization: 'Bearer ' }), () => `?auth=${publish}`],
    ['the query, with the scheme in it', () => ({}), () => `?auth=Bearer%20${publish}`],
  ])('takes the token from %s', async (_, headers, query) => {
    const path = `/api/whip/show${typeof query === 'string' ? query : query()}`
    expect((await offer(path, headers() as Headers)).status).toBe(201)
  })

  test('with a header without a token, as some clients always send, counts as no token', async () => {
    const open = `/api/whep/${sluice.accountId}/show`
    for (const authorization of ['NoAuth', 'Basic dXNlcjpwYXNz', 'Bearer']) {
      expect((await offer(open, { authorization })).status).toBe(201)
    }
  })

  test('keeps names of 128 characters in any script', async () => {
    const name = `studio${'音'.repeat(122)}`
    expect((await offer(`/api/whip/${encodeURIComponent(name)}`, bearer(publish))).status).toBe(201)
    expect(engine.asked[0]!.room).toBe(`${sluice.accountId}/${name}`)
  })
})

describe('a refusal is plain text, and does not reach the engine', () => {
  test.each([
    ['no token', '/api/whip/show', () => ({}), 'Unauthorized: Invalid token'],
    ['an unknown token', '/api/whip/show', () => bearer('f'.repeat(64)), 'Unauthorized: Invalid token'],
    [
      'a token with the scheme twice',
      '/api/whip/show',
      () => bearer(`Bearer ${publish}`),
      'Unauthorized: Invalid token',
    ],
    ['a subscribe token', '/api/whip/vip', () => bearer(subscribe), 'Unauthorized: Invalid token'],
    ['another stream', '/api/whip/other', () => bearer(publish), 'Unauthorized: StreamName is not valid for token'],
  ])('%s', async (_, path, headers, text) => {
    const answer = await offer(path, headers())
    expect(answer).toMatchObject({ status: 401, text })
    expect(answer.header('content-type')).toBe('text/plain; charset=utf-8')
    expect(answer.header('www-authenticate')).toBe('Bearer')
    expect(answer.header('access-control-allow-origin')).toBe('*')
    expect(engine.asked).toEqual([])
  })

  test('a secured stream without a token, and with one', async () => {
    const path = `/api/whep/${sluice.accountId}/vip`
    expect(await offer(path, {})).toMatchObject({ status: 401, text: 'Unauthorized: Invalid token' })
    expect((await offer(path, bearer(subscribe))).status).toBe(201)
  })

  test('an unpublished stream: 409 with Retry-After', async () => {
    for (const path of ['studio', 'show?sourceId=second']) {
      const answer = await offer(`/api/whep/${sluice.accountId}/${path}`, {})
      expect(answer).toMatchObject({ status: 409, text: 'Stream not being published' })
      expect(Number(answer.header('retry-after'))).toBeGreaterThan(0)
    }
  })

  test.each([
    ['another type', 415, 'application/json', '{}', ''],
    ['a fragment', 415, 'application/trickle-ice-sdpfrag', OFFER, ''],
    ['more than 64 KiB', 413, 'application/sdp', 'a'.repeat(65_537), ''],
    ['nothing', 400, 'application/sdp', '', ''],
    ['what is not UTF-8', 400, 'application/sdp', new Uint8Array([0xff, 0xfe]), ''],
    ['an unknown codec', 400, 'application/sdp', OFFER, '?codec=h266'],
    ['a source id with control characters', 400, 'application/sdp', OFFER, '?sourceId=a%00b'],
    ['a source id that is too long', 400, 'application/sdp', OFFER, `?sourceId=${'a'.repeat(129)}`],
    ['a parameter that is not built', 400, 'application/sdp', OFFER, '?intraOnlyForwarding'],
    ['a parameter of another protocol', 400, 'application/sdp', OFFER, '?enableUTCInsertion'],
    ['parameters that exclude each other', 400, 'application/sdp', OFFER, '?audioOnly&videoOnly'],
    ['a path that is no UTF-8', 400, 'application/sdp', OFFER, '%ff'],
  ])('%s: %i', async (_, status, type, body, query) => {
    const answer = await offer(`/api/whip/show${query}`, { ...bearer(publish), 'content-type': type }, body)
    expect(answer.status).toBe(status)
    expect(answer.header('content-type')).toBe('text/plain; charset=utf-8')
    expect(answer.header('access-control-allow-origin')).toBe('*')
    expect(answer.text).not.toMatch(/[{}]/)
    expect(engine.asked).toEqual([])
  })

  test("the engine's own refusal is passed on, and the admitted session is closed", async () => {
    engine.negotiated = async () => ({ ok: false, status: 406, problem: 'The offer has no codec that is known' })
    const answer = await offer('/api/whip/show', bearer(publish))
    expect(answer).toMatchObject({ status: 406, text: 'The offer has no codec that is known' })
    expect(isOn()).toBe(false)
  })

  test('an unavailable engine is a 503 with Retry-After', async () => {
    engine.negotiated = () => Promise.reject(new Error('the child of pid 5 died'))
    const answer = await offer('/api/whip/show', bearer(publish))
    expect(answer.status).toBe(503)
    expect(answer.header('retry-after')).toBe('1')
    expect(answer.text).not.toContain('pid')
    expect(isOn()).toBe(false)
  })

  test('a session that ends during its offer leaves nothing behind', async () => {
    engine.negotiated = async () => {
      engine.emit({ kind: 'ended', sessionId: engine.asked[0]!.sessionId, reason: 'kicked' })
      return { ok: true, answer: 'v=0\r\n', etag: 'first' }
    }
    const answer = await offer('/api/whip/show', bearer(publish))
    expect(answer.status).toBe(503)
    expect(answer.header('location')).toBeNull()
  })

  test('concurrent offers are bounded, and later ones succeed', async () => {
    const gate = Promise.withResolvers<void>()
    engine.negotiated = () => gate.promise.then(() => ({ ok: true, answer: 'v=0\r\n', etag: 'a' }))
    const waiting = [offer('/api/whip/show', bearer(publish)), offer('/api/whip/studio', bearer(publish))]
    await expect.poll(() => engine.asked.length).toBe(2)
    expect((await offer('/api/whip/show', bearer(publish))).status).toBe(503)
    gate.resolve()
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([201, 201])
    expect((await offer('/api/whip/show', bearer(publish))).status).toBe(201)
  })
})

describe('the resource', () => {
  test('trickle is 204, and reaches its own session', async () => {
    const at = await begin()
    expect(await patch(at)).toMatchObject({ status: 204, text: '' })
    expect(engine.patches).toEqual([{ sessionId: engine.asked[0]!.sessionId, fragment: FRAGMENT, mayRestart: true }])
  })

  test('an ICE restart is 200 with a fragment and a new ETag; the old one no longer matches', async () => {
    const at = await begin()
    engine.patched = async () => ({ ok: true, answer: 'a=ice-ufrag:new\r\n', etag: 'second' })
    const restarted = await patch(at, { 'if-match': '*' })
    expect(restarted).toMatchObject({ status: 200, text: 'a=ice-ufrag:new\r\n' })
    expect(restarted.header('etag')).toBe('"second"')
    expect(restarted.header('content-type')).toBe('application/trickle-ice-sdpfrag')
    engine.patched = async () => ({ ok: true, answer: null, etag: 'second' })
    expect((await patch(at)).status).toBe(412)
    expect((await patch(at, { 'if-match': '"second"' })).status).toBe(204)
  })

  test.each([
    ['another ETag', 412, { 'if-match': '"other"' }, FRAGMENT],
    ['another type', 415, { 'if-match': '*', 'content-type': 'application/sdp' }, FRAGMENT],
    ['more than 16 KiB', 413, { 'if-match': '*' }, 'a'.repeat(16_385)],
    ['nothing', 400, { 'if-match': '*' }, ''],
  ])('PATCH with %s: %i, and the session continues', async (_, status, headers, body) => {
    const at = await begin()
    const answer = await patch(at, headers, body)
    expect(answer.status).toBe(status)
    expect(answer.header('content-type')).toBe('text/plain; charset=utf-8')
    expect(engine.patches).toEqual([])
    expect((await patch(at)).status).toBe(204)
  })

  test('PATCH without If-Match never restarts ICE: the engine takes candidates of the current ICE session, or answers 428', async () => {
    const at = await begin()
    expect((await patch(at, {})).status).toBe(204)
    expect(engine.patches).toMatchObject([{ fragment: FRAGMENT, mayRestart: false }])
    engine.patched = async () => ({ ok: false, status: 428, problem: 'Precondition Required: send If-Match' })
    expect(await patch(at, {})).toMatchObject({ status: 428, text: 'Precondition Required: send If-Match' })
  })

  test("the engine's refusal is passed on, and the session continues", async () => {
    const at = await begin()
    engine.patched = async () => ({ ok: false, status: 422, problem: 'No candidate in it can be used' })
    expect(await patch(at)).toMatchObject({ status: 422, text: 'No candidate in it can be used' })
    expect(engine.ended).toEqual([])
  })

  test('1,600 PATCHes on a hundred connections: each gets an answer, and at most 8 are under way', async () => {
    const at = await begin()
    let [underWay, most] = [0, 0]
    engine.patched = async () => {
      most = Math.max(most, ++underWay)
      await new Promise(setImmediate)
      underWay--
      return { ok: true, answer: null, etag: 'first' }
    }
    const answers = await Promise.all(Array.from({ length: 100 }, () => patchAtOnce(at, 16)))
    const statuses = answers.flat()
    expect(statuses).toHaveLength(1600)
    expect(statuses.filter((status) => status !== '204' && status !== '429')).toEqual([])
    expect(most).toBeLessThanOrEqual(8)
    expect((await patch(at)).status).toBe(204)
  })

  test('DELETE ends the session and its resource', async () => {
    const at = await begin()
    const { sessionId } = engine.asked[0]!
    expect((await send('DELETE', at)).status).toBe(200)
    const stored = await sluice.app.ctx.store.read.sessions.get(sessionId)
    expect([engine.ended, isOn(), stored?.endReason]).toEqual([[sessionId], false, 'left'])
    expect((await send('DELETE', at)).status).toBe(404)
    expect((await patch(at)).status).toBe(404)
  })

  test.each([
    ['whose client closed its connection first', 'left', 200, 1],
    ['whose client was silent', 'lost', 200, 1],
    ['that another publisher replaced', 'replaced', 404, 0],
    ['whose media process died', 'engine_died', 404, 0],
  ] as const)(
    'after the end of a session %s there is only its DELETE, a late goodbye',
    async (_, reason, status, ends) => {
      const at = await begin()
      const { sessionId } = engine.asked[0]!
      let ended = 0
      const { sessions } = sluice.app.ctx
      const of = sessions.get(sessionId) ?? expect.fail()
      sessions.heldEnds.add({ of, hasSpare: false, end: () => ended++ })
      engine.emit({ kind: 'ended', sessionId, reason })
      expect((await patch(at)).status).toBe(404)
      expect([(await send('DELETE', at)).status, ended]).toEqual([status, ends])
      expect((await send('DELETE', at)).status).toBe(404)
    },
  )

  test("no two ids are alike, and no client gets another's", async () => {
    expect(await begin()).not.toBe(await begin())
    expect((await send('DELETE', `/api/whip/resource/${'A'.repeat(43)}`)).status).toBe(404)
  })
})

describe('methods', () => {
  test.each([
    ['/api/whip/show', 'POST, OPTIONS', ['GET', 'PUT', 'PATCH', 'DELETE']],
    ['/api/whep/a1b2c3/show', 'POST, OPTIONS', ['GET', 'PUT', 'PATCH', 'DELETE']],
    ['/api/whip/resource/x', 'PATCH, DELETE, OPTIONS', ['GET', 'POST', 'PUT']],
    ['/api/whep/resource/x', 'PATCH, DELETE, OPTIONS', ['GET', 'PUT']],
  ])('%s allows %s', async (path, allow, methods) => {
    for (const method of methods) {
      const answer = await send(method, path)
      expect([method, answer.status, answer.header('allow')]).toEqual([method, 405, allow])
      expect(answer.header('access-control-allow-origin')).toBe('*')
    }
    expect((await send('HEAD', path)).status).toBe(405)
  })

  test.each(['/api/whip', '/api/whip/a/b/c', '/api/whep/a1b2c3', '/api/whip/resource/a/b'])(
    '%s is nothing',
    async (path) => {
      const answer = await offer(path, bearer(publish))
      expect(answer.status).toBe(404)
      expect(answer.header('access-control-allow-origin')).toBe('*')
    },
  )

  test('CORS headers that pages may read of an answer', async () => {
    const answer = await offer('/api/whip/show', bearer(publish))
    for (const name of ['Location', 'Link', 'ETag']) {
      expect(answer.header('access-control-expose-headers')).toContain(name)
    }
  })
})
