import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { RtmpClient } from '../media/rtmp/client.ts'
import type { Peer } from './peer.ts'
import { setStage, type Stage } from './sluice.ts'

let stage: Stage
let publisher: Peer
let viewer: Peer

const SOON = { timeout: 60_000, interval: 100 }

/** The stream `secured` is on the air in all tests of this file. */
const name = 'secured'
const streams = [{ streamName: name }]

beforeAll(async () => {
  stage = await setStage()
  const { token } = await stage.token('publish', { streams, subscribeRequiresAuth: true })
  ;[publisher, viewer] = [await stage.peer(), await stage.peer('watch.allowed.test')]
  expect(await publisher.publish({ url: stage.whip(name), token })).toBe('ok')
  const { token: subscribe } = await stage.token('subscribe', { streams })
  const request = { url: stage.whep(name), token: subscribe }
  await vi.waitUntil(async () => (await viewer.watch(request)) === 'ok', SOON)
})
afterAll(() => stage.close())

const KINDS = [
  ['WHIP', 'publish'],
  ['WHEP', 'subscribe'],
] as const
type Kind = (typeof KINDS)[number][1]

/** The result that a page gets with this token. */
async function tried(kind: Kind, token: string, { stream = name, page = viewer } = {}): Promise<string> {
  const answer = await (kind === 'publish'
    ? page.publish({ url: stage.whip(stream), token })
    : page.watch({ url: stage.whep(stream), token }))
  if (answer === 'ok') await page.stop()
  return answer
}

/** The same from another address behind a trusted proxy. The offer is invalid, so an admission is a 400. */
async function triedFrom(address: string, kind: Kind, token: string): Promise<string> {
  const url = kind === 'publish' ? stage.whip(name) : stage.whep(name)
  const headers = { 'content-type': 'application/sdp', authorization: `Bearer ${token}`, 'x-forwarded-for': address }
  const response = await fetch(url, { method: 'POST', headers, body: 'no offer' })
  const text = await response.text()
  return response.status === 400 ? 'admitted' : `${response.status} ${text}`
}

const made = async (kind: Kind, body: object = {}) => (await stage.token(kind, { streams, ...body })).token

describe.each(KINDS)("refused over %s, with the interface's own texts", (_, kind) => {
  const other: Kind = kind === 'publish' ? 'subscribe' : 'publish'

  test('no token, an unknown one, one of the other kind', async () => {
    const text = '401 Unauthorized: Invalid token'
    expect(await tried(kind, '')).toBe(text)
    expect(await tried(kind, 'f'.repeat(64))).toBe(text)
    expect(await tried(kind, await made(other))).toBe(text)
  })

  test('a disabled token', async () => {
    const { id, token } = await stage.token(kind, { streams })
    await stage.api('PUT', `/api/${kind}_token/${id}`, { isActive: false })
    expect(await tried(kind, token)).toBe('401 Unauthorized: Token disabled')
  })

  test('an expired token', async () => {
    const token = await made(kind, { expires: 1 })
    await expect.poll(() => triedFrom('127.0.0.1', kind, token), SOON).toBe('401 Unauthorized: Token expired')
  })

  test('another stream', async () => {
    const answer = await tried(kind, await made(kind), { stream: 'other' })
    expect(answer).toBe('401 Unauthorized: StreamName is not valid for token')
  })

  test('a page of another origin, but not of an allowed origin', async () => {
    const token = await made(kind, { allowedOrigins: ['*.allowed.test'] })
    expect(await tried(kind, token, { page: publisher })).toBe('401 Unauthorized: Origin not allowed')
    expect(await triedFrom('127.0.0.1', kind, token)).toBe('401 Unauthorized: Origin not allowed')
    if (kind === 'subscribe') expect(await tried(kind, token)).toBe('ok')
  })

  test('another address, but not a listed one', async () => {
    const token = await made(kind, { allowedIpAddresses: ['198.51.100.0/24'] })
    expect(await tried(kind, token)).toBe('401 Unauthorized: IP Address not allowed')
    expect(await triedFrom('203.0.113.7', kind, token)).toBe('401 Unauthorized: IP Address not allowed')
    expect(await triedFrom('198.51.100.7', kind, token)).toBe('admitted')
  })

  test('more addresses than bind-on-usage allows', async () => {
    const token = await made(kind, { bindIpsOnUsage: 1 })
    expect(await triedFrom('198.51.100.7', kind, token)).toBe('admitted')
    expect(await tried(kind, token)).toBe('401 Unauthorized: IP Address not allowed')
    expect(await triedFrom('198.51.100.7', kind, token)).toBe('admitted')
  })

  test('a country that is not known to be allowed', async () => {
    const token = await made(kind, { allowedCountries: ['NZ'] })
    expect(await tried(kind, token)).toBe('401 Unauthorized: Country not allowed')
  })
})

/** The answer to an HLS player, as a page of `origin` and from `address`. */
async function triedHls(token: string, { stream = name, origin = '', address = '' } = {}): Promise<string> {
  const headers = {
    ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
    ...(origin === '' ? {} : { origin }),
    ...(address === '' ? {} : { 'x-forwarded-for': address }),
  }
  const response = await fetch(stage.hls(stream), { headers })
  return `${response.status} ${await response.text()}`
}

/** The error text that an encoder gets. */
async function triedRtmp(token: string, stream = name): Promise<string> {
  const { port, pathname } = new URL(stage.rtmp(stream, token).replace('rtmp:', 'http:'))
  const client = await RtmpClient.open(Number(port))
  await client.publish('v2/pub', `${pathname.slice('/v2/pub/'.length)}?token=${token}`).catch(() => undefined)
  const { description } = await client.status()
  client.socket.destroy()
  return `401 ${description}`
}

async function disabled(kind: Kind): Promise<string> {
  const { id, token } = await stage.token(kind, { streams })
  await stage.api('PUT', `/api/${kind}_token/${id}`, { isActive: false })
  return token
}

describe.each([
  ['HLS', 'subscribe'],
  ['RTMP', 'publish'],
] as const)('refused over %s, in the words of the interface', (protocol, kind) => {
  const refusal = (token: string, stream = name) =>
    protocol === 'HLS' ? triedHls(token, { stream }) : triedRtmp(token, stream)

  test('by the kind of the token and its rules', async () => {
    const invalid = '401 Unauthorized: Invalid token'
    expect(await refusal('')).toBe(invalid)
    expect(await refusal('f'.repeat(64))).toBe(invalid)
    expect(await refusal(await made(kind === 'publish' ? 'subscribe' : 'publish'))).toBe(invalid)
    expect(await refusal(await disabled(kind))).toBe('401 Unauthorized: Token disabled')
    expect(await refusal(await made(kind), 'other')).toBe('401 Unauthorized: StreamName is not valid for token')
    const country = await made(kind, { allowedCountries: ['NZ'] })
    expect(await refusal(country)).toBe('401 Unauthorized: Country not allowed')
    const spent = await made(kind, { expires: 1 })
    const after = async () => (await triedFrom('127.0.0.1', kind, spent)) === '401 Unauthorized: Token expired'
    await expect.poll(after, SOON).toBe(true)
    expect(await refusal(spent)).toBe('401 Unauthorized: Token expired')
  })
})

test('an HLS player is refused by its origin and its address', async () => {
  const page = await made('subscribe', { allowedOrigins: ['*.allowed.test'] })
  const foreign = '401 Unauthorized: Origin not allowed'
  expect(await triedHls(page)).toBe(foreign)
  expect(await triedHls(page, { origin: 'https://elsewhere.test' })).toBe(foreign)
  const listed = await made('subscribe', { allowedIpAddresses: ['198.51.100.0/24'] })
  expect(await triedHls(listed, { address: '203.0.113.7' })).toBe('401 Unauthorized: IP Address not allowed')
  const bound = await made('subscribe', { bindIpsOnUsage: 1 })
  expect(await triedFrom('198.51.100.7', 'subscribe', bound)).toBe('admitted')
  expect(await triedHls(bound, { address: '198.51.100.8' })).toBe('401 Unauthorized: IP Address not allowed')
})

test('an encoder cannot use a token with origin or address rules, and gets the reason', async () => {
  const page = await made('publish', { allowedOrigins: ['*.allowed.test'] })
  expect(await triedRtmp(page)).toBe('401 Unauthorized: Origin not allowed (RTMP has no origin)')
  const filters = '401 Unauthorized: IP filters are not supported with RTMP'
  expect(await triedRtmp(await made('publish', { allowedIpAddresses: ['127.0.0.1'] }))).toBe(filters)
  expect(await triedRtmp(await made('publish', { bindIpsOnUsage: 1 }))).toBe(filters)
})

test('an unpublished stream is a 404 over HLS, which players retry', async () => {
  const { token } = await stage.token('subscribe', { streams: [{ streamName: 'silent' }] })
  expect(await tried('subscribe', token, { stream: 'silent' })).toBe('409 Stream not being published')
  expect(await triedHls(token, { stream: 'silent' })).toBe('404 Stream not being published')
})

describe('self-signed tokens', () => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

  function signed(parent: { id: number; token: string }, streaming: object, exp = Date.now() / 1000 + 60): string {
    const claims = {
      exp: Math.floor(exp),
      streaming: { tokenId: parent.id, tokenType: 'Subscribe', streamName: name, ...streaming },
    }
    const input = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`
    return `${input}.${createHmac('sha256', parent.token).update(input).digest('base64url')}`
  }

  test('one plays; a used-up or forged one, or one for another origin, does not', async () => {
    const parent = await stage.token('subscribe', { streams })
    expect(await tried('subscribe', signed(parent, {}))).toBe('ok')
    expect(await tried('subscribe', signed({ ...parent, token: 'f'.repeat(64) }, {}))).toBe(
      '401 Unauthorized: Invalid token',
    )
    expect(await tried('subscribe', signed(parent, {}, Date.now() / 1000 - 5))).toBe('401 Unauthorized: Token expired')
    const remote = signed(parent, { allowedOrigins: ['https://elsewhere.test'] })
    expect(await tried('subscribe', remote)).toBe('401 Unauthorized: Origin not allowed')
  })
})

test('the broadcast has continued through all of this', async () => {
  const { token } = await stage.token('subscribe', { streams })
  const peer = await stage.peer()
  expect(await peer.watch({ url: stage.whep(name), token })).toBe('ok')
  await peer.plays()
})
