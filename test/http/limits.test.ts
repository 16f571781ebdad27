import { afterAll, beforeAll, expect, it } from 'vitest'
import { credential, type ChannelsClient, runChannels } from '../support/channelsClient.ts'

let live: ChannelsClient
beforeAll(async () => {
  const management = { failedAttemptsPerMinute: 5, requestsPerMinute: 20 }
  live = await runChannels({ flags: { management, server: { trustedProxies: ['127.0.0.1'] } } })
})
afterAll(() => live.close())

const from = (address: string, authorization: string) => ({ authorization, 'x-forwarded-for': address })
const WRONG = `Basic ${btoa('key:wrong')}`

it('too many wrong credentials are throttled for this address only; a valid one is always accepted', async () => {
  const ask = (address: string, authorization = WRONG) =>
    live.running.call('GET', '/v2/channels', undefined, from(address, authorization))
  for (let times = 0; times < 5; times += 1) expect((await ask('192.0.2.1')).status).toBe(401)
  const refused = await ask('192.0.2.1')
  expect(refused).toMatchObject({ status: 429, json: { code: 'rate_limited' } })
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(12)
  expect((await ask('192.0.2.2')).status).toBe(401)
  // A badly configured client and a good one may share an address.
  expect((await ask('192.0.2.1', live.authorization)).status).toBe(200)

  const tokens = await live.running.call('GET', '/api/sessions', undefined, from('192.0.2.1', 'Bearer wrong'))
  expect(tokens).toMatchObject({ status: 429, json: { status: 'fail', data: { message: expect.any(String) } } })
  expect(tokens.headers.get('retry-after')).toMatch(/^\d+$/)
})

it('all addresses of an IPv6 network count as one', async () => {
  const ask = (address: string) => live.running.call('GET', '/api/sessions', undefined, from(address, 'Bearer wrong'))
  for (let times = 0; times < 5; times += 1) expect((await ask(`2001:db8:1:2::${times}`)).status).toBe(401)
  expect((await ask('2001:db8:1:2:ffff::1')).status).toBe(429)
  expect((await ask('2001:db8:1:3::1')).status).toBe(401)
})

it('a credential has its own budget of requests, and requests of viewers do not count', async () => {
  const [busy, calm] = [await credential(live.running, 'read'), await credential(live.running, 'read')]
  const ask = (authorization: string) => live.v2('GET', '/regions', undefined, { authorization })
  const answers = await Promise.all(Array.from({ length: 25 }, () => ask(busy)))
  const statuses = answers.map(({ status }) => status)
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(20)
  expect(statuses.at(-1)).toBe(429)
  const refused = answers.at(-1)
  expect(refused?.json).toMatchObject({ code: 'rate_limited' })
  expect(refused?.headers.get('retry-after')).toMatch(/^\d+$/)
  expect((await ask(calm)).status).toBe(200)
  for (let times = 0; times < 30; times += 1) {
    const path = '/v2/distributions/di_none/hls/main.m3u8'
    expect((await live.running.call('GET', path, undefined, { authorization: busy })).status).toBe(404)
  }
})
