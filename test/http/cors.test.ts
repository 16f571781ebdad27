import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runApp, type RunningApp } from '../support/app.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'

let sluice: RunningApp
beforeAll(async () => {
  sluice = await runApp({ engine: new ScriptedEngine() })
})
afterAll(() => sluice.close())

const PATHS = [
  '/hls/abc123/main/index.m3u8',
  '/hls/abc123/main/thumbnail.jpeg',
  '/hls/~ticket/stream/thumbnail.jpeg',
  '/hls/~ticket/stream/v0/media.m3u8',
  '/v2/distributions/x/hls/main.m3u8',
  '/api/whep/abc123/main',
  '/api/whip/main',
  '/api/whip/resource/x',
]

/** The headers that a page may send, after it asked for these. */
async function allowed(path: string, names: string): Promise<string[]> {
  const headers = { authorization: '', origin: 'https://tv.example', 'access-control-request-headers': names }
  const answer = await sluice.call('OPTIONS', path, undefined, headers)
  expect([answer.status, answer.headers.get('vary')]).toEqual([204, 'Access-Control-Request-Headers'])
  return (answer.headers.get('access-control-allow-headers') ?? '').toLowerCase().split(/\s*,\s*/)
}

describe.each(PATHS)('a page may send headers of its own to %s', (path) => {
  test('such as those of CMCD and of tracing, together with a token', async () => {
    const names = ['cmcd-object', 'cmcd-request', 'cmcd-session', 'cmcd-status', 'traceparent', 'x-client', 'range']
    expect(await allowed(path, names.join(','))).toEqual(
      expect.arrayContaining([...names, 'authorization', 'if-match']),
    )
  })

  test.each([
    ['no names', 'a: b'],
    ['two blanks in a name', 'a  b'],
    ['a name of 65 characters', 'x'.repeat(65)],
  ])('but not %s', async (_what, names) => {
    expect(await allowed(path, names)).toEqual(['authorization', 'content-type', 'if-match'])
  })

  test('at most 40 of them, of at most 64 characters', async () => {
    const names = Array.from({ length: 41 }, (_, at) => `x-${at}`.padEnd(64, 'x'))
    expect((await allowed(path, names.join(', '))).slice(3)).toEqual(names.slice(0, 40))
  })

  test('and show what it gets there while it is cross-origin isolated', async () => {
    const { headers } = await sluice.call('GET', path, undefined, { authorization: '' })
    expect(headers.get('cross-origin-resource-policy')).toBe('cross-origin')
  })
})

test('a page that is cross-origin isolated may have the player in a frame', async () => {
  const { headers } = await sluice.call('GET', `/watch/${sluice.accountId}/show`, undefined, { authorization: '' })
  expect(headers.get('cross-origin-embedder-policy')).toBe('require-corp')
  expect(headers.get('cross-origin-resource-policy')).toBe('cross-origin')
})

test.each([
  ['/api/whip/show', 'POST, OPTIONS', 'accept-post', 'application/sdp'],
  ['/api/whep/a1b2c3/show', 'POST, OPTIONS', 'accept-post', 'application/sdp'],
  ['/api/whip/resource/x', 'PATCH, DELETE, OPTIONS', 'accept-patch', 'application/trickle-ice-sdpfrag'],
])('a preflight of %s succeeds without a token', async (path, methods, accepts, type) => {
  const asked = { authorization: '', origin: 'https://a.example', 'access-control-request-method': 'POST' }
  const { status, headers } = await sluice.call('OPTIONS', path, undefined, asked)
  expect(status).toBe(204)
  expect(headers.get('access-control-allow-origin')).toBe('*')
  expect(headers.get('access-control-allow-methods')).toBe(methods)
  expect(headers.get('access-control-allow-headers')).toBe('Authorization, Content-Type, If-Match')
  expect(headers.get(accepts)).toBe(type)
})

test('management paths have no CORS headers', async () => {
  const { headers } = await sluice.call('GET', '/api/publish_token/list')
  expect(headers.get('access-control-allow-origin')).toBeNull()
})
