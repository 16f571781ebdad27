import { afterAll, beforeAll, expect, it } from 'vitest'
import { runApp, type RunningApp } from '../support/app.ts'

let sluice: RunningApp
let token: string
beforeAll(async () => {
  sluice = await runApp()
  const body = { label: 'a', streams: [{ streamName: 'show' }] }
  token = (await sluice.call('POST', '/api/publish_token', body)).json.data.token
})
afterAll(() => sluice.close())

const question = { action: 'publish', protocol: 'whip', streamName: 'show', ip: '192.0.2.1' }

/** A trailing slash keeps a request out of the lane and changes nothing else. */
it.each<[string, () => unknown, Record<string, string>]>([
  ['an admission', () => ({ ...question, token }), {}],
  ['a refusal', () => ({ ...question, token: 'x' }), {}],
  ['a name that needs UTF-8', () => ({ ...question, streamName: 'Bühne 🎭' }), {}],
  ['bad fields', () => ({ action: 'publish', ip: 7 }), {}],
  ['malformed JSON', () => '{"action":', {}],
  ['invalid UTF-8', () => Buffer.from([0x22, 0xff, 0x22]), {}],
  ['a prototype key', () => '{"__proto__":{}}', {}],
  ['an empty object', () => ({}), {}],
  ['another content type', () => 'action=publish', { 'content-type': 'text/plain' }],
  ['a charset', () => ({ ...question, token }), { 'content-type': 'application/json; charset=utf-8' }],
  ['no secret', () => ({ ...question, token }), { authorization: '' }],
  ['a wrong secret', () => ({ ...question, token }), { authorization: 'Bearer nope' }],
  ['a body over the limit', () => ({ ...question, token: 'a'.repeat(1_100_000) }), {}],
])('the lane and the framework answer alike: %s', async (_name, body, headers) => {
  const short = await sluice.call('POST', '/api/access/check', body(), headers)
  const long = await sluice.call('POST', '/api/access/check/', body(), headers)
  expect({ status: short.status, json: short.json }).toEqual({ status: long.status, json: long.json })
  expect(short.headers.get('content-type')).toBe(long.headers.get('content-type'))
  for (const { headers: sent } of [short, long]) expect(sent.get('x-request-id')).toMatch(/^\S{8,}-\w+$/)
})
