import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Peer } from './peer.ts'
import { setStage, type Stage } from './sluice.ts'

let stage: Stage
let publisher: Peer
let viewer: Peer

const SOON = { timeout: 20_000, interval: 100 }

/** The stream `secured` is on the air for all of this file. */
const name = 'secured'
const streams = [{ streamName: name }]

beforeAll(async () => {
  stage = await setStage()
  const { token } = await stage.token('publish', { streams, subscribeRequiresAuth: true })
  ;[publisher, viewer] = [await stage.peer(), await stage.peer('watch.allowed.test')]
  expect(await publisher.publish({ url: stage.whip(name), token })).toBe('ok')
  const { token: subscribe } = await stage.token('subscribe', { streams })
  const wish = { url: stage.whep(name), token: subscribe }
  await vi.waitUntil(async () => (await viewer.watch(wish)) === 'ok', SOON)
})
afterAll(() => stage.close())

const KINDS = [
  ['WHIP', 'publish'],
  ['WHEP', 'subscribe'],
] as const
type Kind = (typeof KINDS)[number][1]

/** What a page is told that tries with this token. */
async function tried(kind: Kind, token: string, { stream = name, page = viewer } = {}): Promise<string> {
  const said = await (kind === 'publish'
    ? page.publish({ url: stage.whip(stream), token })
    : page.watch({ url: stage.whep(stream), token }))
  if (said === 'ok') await page.stop()
  return said
}

/** The same from another address, which a trusted proxy vouches for; the offer is none, so an admission is a 400. */
async function triedFrom(address: string, kind: Kind, token: string): Promise<string> {
  const url = kind === 'publish' ? stage.whip(name) : stage.whep(name)
  const headers = { 'content-type': 'application/sdp', authorization: `Bearer ${token}`, 'x-forwarded-for': address }
  const response = await fetch(url, { method: 'POST', headers, body: 'no offer' })
  const text = await response.text()
  return response.status === 400 ? 'admitted' : `${response.status} ${text}`
}

const made = async (kind: Kind, body: object = {}) => (await stage.token(kind, { streams, ...body })).token

describe.each(KINDS)('refused over %s, in the words of the interface', (_, kind) => {
  const other: Kind = kind === 'publish' ? 'subscribe' : 'publish'

  test('no token, an unknown one, one of the other kind', async () => {
    const text = '401 Unauthorized: Invalid token'
    expect(await tried(kind, '')).toBe(text)
    expect(await tried(kind, 'f'.repeat(64))).toBe(text)
    expect(await tried(kind, await made(other))).toBe(text)
  })

  test('a token that is switched off', async () => {
    const { id, token } = await stage.token(kind, { streams })
    await stage.api('PUT', `/api/${kind}_token/${id}`, { isActive: false })
    expect(await tried(kind, token)).toBe('401 Unauthorized: Token disabled')
  })

  test('a token past its time', async () => {
    const token = await made(kind, { expires: 1 })
    await expect.poll(() => triedFrom('127.0.0.1', kind, token), SOON).toBe('401 Unauthorized: Token expired')
  })

  test('another stream', async () => {
    const said = await tried(kind, await made(kind), { stream: 'other' })
    expect(said).toBe('401 Unauthorized: StreamName is not valid for token')
  })

  test('a page of another origin, while one of an allowed origin is let in', async () => {
    const token = await made(kind, { allowedOrigins: ['*.allowed.test'] })
    expect(await tried(kind, token, { page: publisher })).toBe('401 Unauthorized: Origin not allowed')
    expect(await triedFrom('127.0.0.1', kind, token)).toBe('401 Unauthorized: Origin not allowed')
    if (kind === 'subscribe') expect(await tried(kind, token)).toBe('ok')
  })

  test('another address, while a listed one is let in', async () => {
    const token = await made(kind, { allowedIpAddresses: ['198.51.100.0/24'] })
    expect(await tried(kind, token)).toBe('401 Unauthorized: IP Address not allowed')
    expect(await triedFrom('203.0.113.7', kind, token)).toBe('401 Unauthorized: IP Address not allowed')
    expect(await triedFrom('198.51.100.7', kind, token)).toBe('admitted')
  })

  test('more addresses than are bound on usage', async () => {
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

test('a stream that nobody publishes', async () => {
  const { token } = await stage.token('subscribe', { streams: [{ streamName: 'silent' }] })
  expect(await tried('subscribe', token, { stream: 'silent' })).toBe('409 Stream not being published')
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

  test('one plays; one that is spent, forged, or narrowed to another page does not', async () => {
    const parent = await stage.token('subscribe', { streams })
    expect(await tried('subscribe', signed(parent, {}))).toBe('ok')
    expect(await tried('subscribe', signed({ ...parent, token: 'f'.repeat(64) }, {}))).toBe(
      '401 Unauthorized: Invalid token',
    )
    expect(await tried('subscribe', signed(parent, {}, Date.now() / 1000 - 5))).toBe('401 Unauthorized: Token expired')
    const elsewhere = signed(parent, { allowedOrigins: ['https://elsewhere.test'] })
    expect(await tried('subscribe', elsewhere)).toBe('401 Unauthorized: Origin not allowed')
  })
})

test('through all of this the broadcast went on', async () => {
  const { token } = await stage.token('subscribe', { streams })
  const peer = await stage.peer()
  expect(await peer.watch({ url: stage.whep(name), token })).toBe('ok')
  await peer.plays()
})
