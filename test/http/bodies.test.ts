import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RunningApp } from '../support/app.ts'
import { type LiveClient, runLive } from '../support/v2.ts'

let live: LiveClient
beforeAll(async () => {
  live = await runLive()
})
afterAll(() => live.close())

const call: RunningApp['call'] = (...sent) => live.running.call(...sent)
const TWICE = ['comes twice; send it once']

describe('a property that comes twice', () => {
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
      'of a check, past the lane',
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

  it('with a content encoding is refused only to those who may ask', async () => {
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
  ])('with %s is taken', async (_what, body, headers) => {
    expect((await call('POST', '/api/publish_token', body, headers as Record<string, string>)).status).toBe(200)
  })
})
