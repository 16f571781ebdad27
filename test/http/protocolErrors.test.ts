import { once } from 'node:events'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dialOwnServer } from '../support/acceptedSocket.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { credential } from '../support/channelsClient.ts'

let sluice: RunningApp
let authorization: string
beforeAll(async () => {
  sluice = await runApp({ flags: { server: { requestTimeoutSeconds: 1 } } })
  authorization = await credential(sluice, 'write')
})
afterAll(() => sluice.close())

/** The answer to these bytes, sent unchanged in pieces of which the server has read each before the next is sent. */
async function raw(...pieces: string[]) {
  const { socket, send } = await dialOwnServer(Number(new URL(sluice.base).port))
  let answer = ''
  socket.on('data', (data) => (answer += data.toString()))
  const closed = once(socket, 'close')
  for (const piece of pieces) await send(piece)
  await closed
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  const [first = '', ...lines] = head.split('\r\n')
  const headers = Object.fromEntries(lines.map((line) => [line.split(': ')[0]?.toLowerCase(), line.split(': ')[1]]))
  return { status: Number(first.split(' ')[1]), headers, body, json: () => JSON.parse(body) }
}

const LONG = `X-Long: ${'a'.repeat(20_000)}\r\n\r\n`
const startOf = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n`
const envelope = (message: RegExp) => ({ status: 'fail', data: { message: expect.stringMatching(message) } })

test('a client that asked for a tunnel and reset its connection ended the server', async () => {
  const { socket, served, send } = await dialOwnServer(Number(new URL(sluice.base).port))
  // An error without a listener fails this file. `once` would be one.
  const closed = new Promise<void>((resolve) => served.on('close', () => resolve()))
  await send('CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n')
  socket.resetAndDestroy()
  await closed
  expect((await fetch(`${sluice.base}/healthz`)).status).toBe(200)
})

describe("a request that the HTTP parser refuses gets the interface's own error, with a request id", () => {
  test.each<[string, number, string[], unknown]>([
    ['a head that is too long', 431, [startOf('/api/sessions') + LONG], envelope(/16 KiB/)],
    [
      'the same under /v2',
      431,
      [startOf('/v2/channels') + LONG],
      { ...envelope(/16 KiB/), code: 'headers_too_large', message: expect.any(String) },
    ],
    [
      'the same where the path came before',
      431,
      [startOf('/v2/channels'), LONG],
      { ...envelope(/16 KiB/), code: 'headers_too_large', message: expect.any(String) },
    ],
    ['bytes that are not HTTP', 400, ['GARBAGE\r\n\r\n'], { ...envelope(/not valid HTTP/), code: 'invalid_request' }],
    ['a bad header', 400, [`${startOf('/v2/channels')}a b: c\r\n\r\n`], { code: 'invalid_request' }],
    ['a bad length', 400, [`${startOf('/api/sessions')}Content-Length: x\r\n\r\n`], envelope(/not valid HTTP/)],
    ['no Host', 400, ['GET /api/sessions HTTP/1.1\r\n\r\n'], envelope(/Host/)],
    ['no Host under /v2', 400, ['GET /v2/channels HTTP/1.1\r\n\r\n'], { code: 'invalid_request' }],
    ['a tunnel', 400, ['CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n'], envelope(/no proxy/)],
    ['an expectation', 417, [`${startOf('/api/sessions')}Expect: wonders\r\n\r\n`], envelope(/Expect/)],
    ['a request that does not end', 408, [startOf('/api/sessions')], envelope(/server.requestTimeoutSeconds|too long/)],
  ])('%s: %i', async (_, status, pieces, body) => {
    const answer = await raw(...pieces)
    expect(answer.status).toBe(status)
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(answer.body.length),
      'x-request-id': expect.stringMatching(/^\S+-\w+$/),
      connection: 'close',
    })
    expect(answer.json()).toMatchObject(body as object)
  })

  test.each(['/api/whip/show', '/hls/a1b2c3/show/index.m3u8', '/v2/channels', '/api/sessions'])(
    'it is the same for %s wherever a packet ends, and pages of every origin can read it',
    async (path) => {
      const [whole, split] = await Promise.all([raw(startOf(path) + LONG), raw(startOf(path), LONG)])
      const { 'x-request-id': _, ...headers } = whole.headers
      expect(split).toMatchObject({ status: whole.status, headers, body: whole.body })
      expect(headers['access-control-allow-origin']).toBe('*')
    },
  )

  test.each<[string, number, string]>([
    ['two Hosts', 400, `${startOf('/healthz')}Host: y\r\nConnection: close\r\n\r\n`],
    ['two Hosts in HTTP/1.0', 400, 'GET /healthz HTTP/1.0\r\nHost: x\r\nhost: x\r\n\r\n'],
    ['a body in gzip and chunks', 501, `${startOf('/api/sessions')}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    [
      'two codings in two headers',
      501,
      `${startOf('/v2/channels')}Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    [
      'chunks in HTTP/1.0',
      400,
      'POST /api/sessions HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['chunks alone', 200, `${startOf('/healthz')}Transfer-Encoding: Chunked\r\nConnection: close\r\n\r\n0\r\n\r\n`],
    ['one Host', 200, `${startOf('/healthz')}Connection: close\r\n\r\n`],
  ])('%s: %i', async (_name, status, request) => {
    expect((await raw(request)).status).toBe(status)
  })

  test.each([
    '/api/publish_token/list_by_name?name=%ff',
    '/api/publish_token/list_by_name?name=%C3',
    '/api/publish_token/list_by_name?name=a&%ed%a0%80=b',
    '/v2/channels?cursor=%ff',
    '/watch/%ff/show',
    '/hls/a1b2c3/%c3%28/index.m3u8',
    '/dashboard/%fe',
    '/nothing/%ff',
    // A NUL, which PostgreSQL takes in no text.
    '/hls/%00/show/index.m3u8?auth=x',
    '/api/whep/a1b2c3/%00',
    '/api/webhooks/list?x=%00',
    '/v2/channels?cursor=%00',
  ])('bytes in an address that are no text are a 400: %s', async (path) => {
    expect((await sluice.call('GET', path, undefined, path.startsWith('/v2/') ? { authorization } : {})).status).toBe(
      400,
    )
  })

  test.each(['name=%F0%9F%8E%A5', 'name=100%', 'name=%zz'])(
    'what is UTF-8, or encodes nothing, is taken: %s',
    async (query) => {
      expect((await sluice.call('GET', `/api/publish_token/list_by_name?${query}`)).status).toBe(200)
    },
  )

  test('each request id is unique, and the answer is counted', async () => {
    const answers = await Promise.all([0, 1, 2].map(() => raw('GARBAGE\r\n\r\n')))
    expect(new Set(answers.map(({ headers }) => headers['x-request-id'])).size).toBe(3)
    const metrics = await (await fetch(`${sluice.base}/metrics`)).text()
    expect(metrics).toMatch(/sluice_http_requests_total\{method="none",route="none",status="400"\} \d/)
  })

  test('an invalid second request does not corrupt the answer under way', async () => {
    const [first] = (await raw(`${startOf('/healthz')}\r\nGARBAGE\r\n\r\n`)).body.split('HTTP/1.1 400')
    expect(first).toBe('ok\n')
  })
})

describe('a body with a Content-Encoding is a 415 that names it', () => {
  const body = gzipSync(JSON.stringify({ label: 'a', streams: [{ streamName: 'show' }] }))
  const coded = { 'content-encoding': 'gzip' }

  test.each<[string, () => Promise<{ status: number; json: unknown; headers: Headers }>, unknown]>([
    ['tokens', () => sluice.call('POST', '/api/publish_token', body, coded), envelope(/Content-Encoding: gzip/)],
    [
      'channels',
      () => sluice.call('POST', '/v2/channels', body, { ...coded, authorization }),
      { code: 'unsupported_media_type', message: expect.stringMatching(/Content-Encoding: gzip/) },
    ],
    [
      'the access check, which has a fast path',
      () => sluice.call('POST', '/api/access/check', body, coded),
      envelope(/Content-Encoding: gzip/),
    ],
  ])('%s', async (_, send, expected) => {
    const answer = await send()
    expect([answer.status, answer.headers.get('accept-encoding')]).toEqual([415, 'identity'])
    expect(answer.json).toMatchObject(expected as object)
  })

  test('an offer over WHIP, in plain text', async () => {
    const headers = { ...coded, 'content-type': 'application/sdp' }
    const answer = await sluice.call('POST', '/api/whip/show', gzipSync('v=0\r\n'), headers)
    expect(answer.status).toBe(415)
    expect(answer.text).toBe('Unsupported Media Type: Content-Encoding: gzip is not supported; send the body as it is')
  })

  test('identity, or an absent body, is no encoding; a client without a secret learns only that', async () => {
    const plain = { 'content-encoding': 'identity' }
    const made = { label: 'a', streams: [{ streamName: 'show' }] }
    expect((await sluice.call('POST', '/api/publish_token', made, plain)).status).toBe(200)
    expect((await sluice.call('GET', '/api/sessions', undefined, coded)).status).toBe(200)
    expect((await sluice.call('POST', '/api/publish_token', body, { ...coded, authorization: '' })).status).toBe(401)
  })
})
