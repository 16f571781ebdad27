import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { MESSAGE } from '../../src/media/rtmp/messages.ts'
import { RtmpClient } from '../media/rtmp/client.ts'
import { message } from '../media/rtmp/media.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { FastClock } from '../support/fastClock.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'
import { makeToken } from '../support/testNode.ts'

const SOON = { timeout: 60_000, interval: 100 }
/** The stream `secured` is on the air in all tests of this file. */
const name = 'secured'
const streams = [{ streamName: name }]

type Kind = 'publish' | 'subscribe'
type Protocol = 'WHIP' | 'WHEP' | 'HLS' | 'RTMP'
const PROTOCOLS: readonly [Protocol, Kind][] = [
  ['WHIP', 'publish'],
  ['WHEP', 'subscribe'],
  ['HLS', 'subscribe'],
  ['RTMP', 'publish'],
]
/** Those that know the page and the address that a request comes from. */
const OVER_HTTP = PROTOCOLS.filter(([protocol]) => protocol !== 'RTMP')

const engine = new ScriptedEngine()
/** Tokens expire, and a playlist waits for its first media. */
const clock = new FastClock(8)
let sluice: RunningApp

beforeAll(async () => {
  sluice = await runApp({ engine, clock, flags: { server: { trustedProxies: ['127.0.0.1'] } } })
  const { token } = await makeToken(sluice, 'publish', { streams, subscribeRequiresAuth: true })
  expect(await answerOver('WHIP', token)).toMatch(/^201 /)
  engine.emit({ kind: 'connected', sessionId: engine.asked.at(-1)!.sessionId, address: '127.0.0.1' })
  await vi.waitUntil(() => sluice.app.ctx.sessions.feeds.onAir(sluice.accountId, name), SOON)
})
afterAll(async () => {
  await sluice.close()
  clock.close()
})

interface From {
  stream?: string
  /** Of the page. */
  origin?: string
  /** Behind a proxy. */
  address?: string
}

/** Status and text of the answer to a broadcaster or a viewer with this token. */
async function answerOver(protocol: Protocol, token: string, from: From = {}): Promise<string> {
  const { stream = name, origin, address } = from
  if (protocol === 'RTMP') return answerOverRtmp(token, stream)
  const headers = {
    ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
    ...(origin === undefined ? {} : { origin }),
    ...(address === undefined ? {} : { 'x-forwarded-for': address }),
  }
  const path = {
    WHIP: `/api/whip/${stream}`,
    WHEP: `/api/whep/${sluice.accountId}/${stream}`,
    HLS: `/hls/${sluice.accountId}/${stream}/index.m3u8`,
  }[protocol]
  const offer = { method: 'POST', headers: { ...headers, 'content-type': 'application/sdp' }, body: 'v=0\r\n' }
  const response = await fetch(sluice.base + path, protocol === 'HLS' ? { headers } : offer)
  return `${response.status} ${await response.text()}`
}

/** A publisher gets the text alone. */
async function answerOverRtmp(token: string, stream: string, more = ''): Promise<string> {
  const client = await RtmpClient.open(sluice.rtmpPort ?? 0)
  await client.publish('v2/pub', `${stream}?token=${token}${more}`).catch(() => undefined)
  const { description } = await client.status()
  client.socket.destroy()
  return `401 ${description}`
}

const made = async (kind: Kind, body: object = {}) => (await makeToken(sluice, kind, { streams, ...body })).token

describe.each(PROTOCOLS)("refused over %s, with the interface's own texts:", (protocol, kind) => {
  const answer = (token: string, from?: From) => answerOver(protocol, token, from)

  test('no token, an unknown one, one of the other kind', async () => {
    const text = '401 Unauthorized: Invalid token'
    expect(await answer('')).toBe(text)
    expect(await answer('f'.repeat(64))).toBe(text)
    expect(await answer(await made(kind === 'publish' ? 'subscribe' : 'publish'))).toBe(text)
  })

  test('a disabled token', async () => {
    const { id, token } = await makeToken(sluice, kind, { streams })
    await sluice.call('PUT', `/api/${kind}_token/${id}`, { isActive: false })
    expect(await answer(token)).toBe('401 Unauthorized: Token disabled')
  })

  test('an expired token', async () => {
    const token = await made(kind, { expires: 1 })
    const way = kind === 'publish' ? { action: kind, protocol: 'whip' } : { action: 'view', protocol: 'whep' }
    const body = { ...way, streamName: name, token, ip: '127.0.0.1' }
    const code = async () => (await sluice.call('POST', '/api/access/check', body)).json.data.code
    await expect.poll(code, SOON).toBe('token_expired')
    expect(await answer(token)).toBe('401 Unauthorized: Token expired')
  })

  test('another stream', async () => {
    const text = '401 Unauthorized: StreamName is not valid for token'
    expect(await answer(await made(kind), { stream: 'other' })).toBe(text)
  })

  test('a country that is not known to be allowed', async () => {
    const token = await made(kind, { allowedCountries: ['NZ'] })
    expect(await answer(token)).toBe('401 Unauthorized: Country not allowed')
  })
})

// At once: a playlist waits for the first media, which never comes here.
describe.concurrent.each(OVER_HTTP)('refused over %s by the request:', (protocol, kind) => {
  const answer = (token: string, from?: From) => answerOver(protocol, token, from)
  const isAdmitted = expect.stringMatching(protocol === 'HLS' ? /^503 Stream is starting: / : /^201 /)

  test('no page, or one of another origin, but not of an allowed one', async () => {
    const token = await made(kind, { allowedOrigins: ['*.allowed.test'] })
    const text = '401 Unauthorized: Origin not allowed'
    expect(await answer(token)).toBe(text)
    expect(await answer(token, { origin: 'https://elsewhere.test' })).toBe(text)
    expect(await answer(token, { origin: 'https://watch.allowed.test' })).toEqual(isAdmitted)
  })

  test('another address than a listed one', async () => {
    const token = await made(kind, { allowedIpAddresses: ['198.51.100.0/24'] })
    const text = '401 Unauthorized: IP Address not allowed'
    expect(await answer(token)).toBe(text)
    expect(await answer(token, { address: '203.0.113.7' })).toBe(text)
    expect(await answer(token, { address: '198.51.100.7' })).toEqual(isAdmitted)
  })

  test('more addresses than bind-on-usage allows', async () => {
    const token = await made(kind, { bindIpsOnUsage: 1 })
    const first = { address: '198.51.100.7' }
    // Over HLS nothing is bound before there is a playlist.
    expect(await answerOver(kind === 'publish' ? 'WHIP' : 'WHEP', token, first)).toMatch(/^201 /)
    expect(await answer(token, { address: '198.51.100.8' })).toBe('401 Unauthorized: IP Address not allowed')
    expect(await answer(token, first)).toEqual(isAdmitted)
  })
})

test('a publisher whose address asks for what is refused is in the access log, with what it reads', async () => {
  const refused = await answerOverRtmp(await made('publish'), name, '&intraOnlyForwarding')
  expect(refused).toContain('intraOnlyForwarding is not supported')
  const rows = async () => (await sluice.call('GET', '/api/access/log?code=invalid_parameter')).json.data
  await expect.poll(rows, SOON).toMatchObject([{ streamName: name, message: refused.replace('401 ', '') }])
})

test('who is refused for the media is in the access log, with the text of the answer', async () => {
  const token = await made('publish')
  const sent = async (codec: string) => {
    const client = await RtmpClient.open(sluice.rtmpPort ?? 0)
    await client.publish('v2/pub', `${name}?token=${token}`)
    client.send(message(MESSAGE.video, 0, [0x90, ...Buffer.from(codec)]))
    return (await client.status('NetStream.Failed')).description
  }
  const messages = [await sent('vvc1'), await sent('ap4h')]
  const rows = async () => (await sluice.call('GET', '/api/access/log?code=invalid_media')).json.data
  const row = (at: number) => ({ allowed: false, streamName: name, message: messages[at], count: 1 })
  const { negotiated } = engine
  engine.negotiated = async () => ({ ok: false, status: 406, problem: 'No codec' })
  expect(await answerOver('WHEP', await made('subscribe'))).toBe('406 No codec')
  engine.negotiated = negotiated
  const viewer = { action: 'view', protocol: 'whep', message: 'No codec' }
  await expect.poll(rows, SOON).toMatchObject([viewer, row(1), row(0)])
})

test('an offer whose token went meanwhile, or its stream was stopped, was told to try again as if nothing were wrong', async () => {
  const made = await makeToken(sluice, 'publish', { streams: [{ streamName: 'lost' }] })
  const { negotiated } = engine
  const ending = async (end: () => Promise<unknown>) => {
    engine.negotiated = async () => {
      await end()
      return { ok: false, status: 503, problem: 'This session is over' }
    }
    return answerOver('WHIP', made.token, { stream: 'lost' })
  }
  const stop = () => sluice.call('POST', '/api/stream/stop', { streamId: `${sluice.accountId}/lost` })
  expect(await ending(stop)).toBe('503 The broadcast was ended by the server: the stream was stopped')
  const remove = () => sluice.call('DELETE', `/api/publish_token/${made.id}`)
  expect(await ending(remove)).toBe('401 Unauthorized: Invalid token')
  engine.negotiated = negotiated
})

test('a publisher cannot use a token with origin or address rules, and gets the reason', async () => {
  const answer = async (body: object) => answerOver('RTMP', await made('publish', body))
  const filters = '401 Unauthorized: IP filters are not supported with RTMP'
  expect(await answer({ allowedOrigins: ['*.allowed.test'] })).toBe(
    '401 Unauthorized: Origin not allowed (RTMP has no origin)',
  )
  expect(await answer({ allowedIpAddresses: ['127.0.0.1'] })).toBe(filters)
  expect(await answer({ bindIpsOnUsage: 1 })).toBe(filters)
})

test('an unpublished stream is a 404 over HLS, which players retry', async () => {
  const token = await made('subscribe', { streams: [{ streamName: 'silent' }] })
  expect(await answerOver('WHEP', token, { stream: 'silent' })).toBe('409 Stream not being published')
  expect(await answerOver('HLS', token, { stream: 'silent' })).toBe('404 Stream not being published')
})
