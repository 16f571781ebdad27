import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { endSession } from '../../src/commands/sessions/close.ts'
import { signSubscribeToken } from '../../src/sign.ts'
import { encoded } from '../media/ffmpeg/frames.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { broadcast } from '../support/broadcast.ts'
import { FastClock } from '../support/fastClock.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'

const HOME = '192.0.2.1'
const PAGE = 'https://www.example.com'
/** Of the server. It passes as that of the machine, but for what is waited for. */
const clock = new FastClock(1)
let sluice: RunningApp

beforeAll(async () => {
  const server = { trustedProxies: ['127.0.0.1'] }
  sluice = await runApp({ clock, flags: { server, hls: { sessionSeconds: 6, refuseSharedTickets: false } } })
  const recorded = await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25, size: '320x180' })
  await broadcast(sluice, recorded, { token: { subscribeRequiresAuth: true } })
  await broadcast(sluice, recorded, { streamName: 'open' })
  vi.spyOn(sluice.app.ctx, 'countryOf').mockImplementation(({ text }) => (text.startsWith('198.51.100.') ? 'NZ' : 'DE'))
})
afterAll(async () => {
  await sluice.close()
  clock.close()
})

/** The address and origin of a request. */
interface Place {
  ip?: string
  origin?: string
}

async function get(path: string, { ip = HOME, origin }: Place = {}): Promise<{ status: number; text: string }> {
  const headers = { authorization: '', 'x-forwarded-for': ip, ...(origin === undefined ? {} : { origin }) }
  const { status, text } = await sluice.call('GET', path, undefined, headers)
  return { status, text }
}

const beside = (path: string, uri: string): string => new URL(uri, `http://x${path}`).href.slice('http://x'.length)

/** An admitted viewer's URLs: its playlist, and a piece of each kind. */
async function admitted(token: string, place: Place = {}, stream = 'show') {
  const path = `/hls/${sluice.accountId}/${stream}/index.m3u8?auth=${token}`
  const master = await get(path, place)
  expect(master.status, master.text).toBe(200)
  const playlist = beside(path, /^[^#\s]+$/m.exec(master.text)?.[0] ?? '')
  const { text } = await get(playlist, place)
  const named = (pattern: RegExp): string => beside(playlist, pattern.exec(text)?.[1] ?? '')
  const [init, part] = [named(/"(init-[^"]+)/), named(/"(p\d+[^"]+)",INDEPENDENT/)]
  return { playlist, init, part, segment: named(/\n(s\d+\.m4s\S*)\n(?![^]*\ns\d)/) }
}

type Held = Awaited<ReturnType<typeof admitted>>

/** The statuses of all its URLs from this place; a single one if all are equal. */
async function answers(held: Held, place: Place = {}): Promise<string[]> {
  const found = await Promise.all(Object.values(held).map((path) => get(path, place)))
  return [...new Set(found.map(({ status, text }) => (status === 200 ? 'served' : `${status} ${text}`)))]
}

const REFUSED = {
  address: ['401 Unauthorized: IP Address not allowed'],
  origin: ['401 Unauthorized: Origin not allowed'],
  country: ['401 Unauthorized: Country not allowed'],
  disabled: ['401 Unauthorized: Token disabled'],
}
const SERVED = ['served']

describe('copied URLs of a session', () => {
  test('a token that binds one address admits no other, however often others try', async () => {
    const { id, token } = await makeToken(sluice, 'subscribe', { bindIpsOnUsage: 1 })
    const held = await admitted(token)
    for (const ip of ['192.0.2.2', '192.0.2.3', '2001:db8::1'])
      expect(await answers(held, { ip })).toEqual(REFUSED.address)
    expect(await answers(held)).toEqual(SERVED)
    const bound = await sluice.call('GET', `/api/subscribe_token/${id}/bound_ips`)
    expect(bound.json.data.map(({ address }: { address: string }) => address)).toEqual([HOME])
  })

  test('concurrent requests for the last address of a token bind only one of them', async () => {
    const { id, token } = await makeToken(sluice, 'subscribe', { bindIpsOnUsage: 2 })
    const { playlist } = await admitted(token)
    const others = Array.from({ length: 20 }, (_, n) => `192.0.2.${10 + n}`)
    const found = await Promise.all(others.map((ip) => get(playlist, { ip })))
    const winner = others.filter((_, n) => found[n]?.status === 200)
    expect(winner).toHaveLength(1)
    expect((await get(playlist, { ip: winner[0] ?? '' })).status).toBe(200)
    const bound = await sluice.call('GET', `/api/subscribe_token/${id}/bound_ips`)
    expect(bound.json.data).toHaveLength(2)
  })

  test('a phone that changes networks continues where its token allows it, and is refused elsewhere', async () => {
    const { token } = await makeToken(sluice, 'subscribe', { allowedIpAddresses: ['192.0.2.0/24', '198.51.100.0/24'] })
    const held = await admitted(token)
    expect(await answers(held, { ip: '198.51.100.7' })).toEqual(SERVED)
    expect(await answers(held, { ip: '203.0.113.7' })).toEqual(REFUSED.address)
    expect(await answers(held)).toEqual(SERVED)
  })

  test('a page of a foreign origin is refused, and so is a request without an origin', async () => {
    const allowedOrigins = ['www.example.com', '*.example.net']
    const { token } = await makeToken(sluice, 'subscribe', { allowedOrigins })
    const held = await admitted(token, { origin: PAGE })
    expect(await answers(held, { origin: 'https://evil.example' })).toEqual(REFUSED.origin)
    expect(await answers(held)).toEqual(REFUSED.origin)
    expect(await answers(held, { origin: 'https://a.example.net' })).toEqual(SERVED)
    expect(await answers(held, { origin: PAGE, ip: '203.0.113.9' })).toEqual(SERVED)
  })

  test('countries are checked again for another address', async () => {
    const { token } = await makeToken(sluice, 'subscribe', { allowedCountries: ['DE'] })
    const held = await admitted(token)
    expect(await answers(held, { ip: '198.51.100.1' })).toEqual(REFUSED.country)
    expect(await answers(held, { ip: '203.0.113.1' })).toEqual(SERVED)
  })

  test('a self-signed token follows its own rules and those of its parent', async () => {
    const { id: tokenId, token } = await makeToken(sluice, 'subscribe', { allowedOrigins: ['*.example.com'] })
    const narrowed = { allowedOrigins: ['www.example.com'], allowedIpAddresses: [HOME] }
    const child = signSubscribeToken({ token, tokenId, streamName: 'show', ...narrowed })
    const held = await admitted(child, { origin: PAGE })
    expect(await answers(held, { origin: 'https://other.example.com' })).toEqual(REFUSED.origin)
    expect(await answers(held, { origin: PAGE, ip: '192.0.2.2' })).toEqual(REFUSED.address)
    expect(await answers(held, { origin: PAGE })).toEqual(SERVED)
  })

  test('a disabled token still serves its admitted viewers at their places, and admits no new place', async () => {
    const { id, token } = await makeToken(sluice, 'subscribe', { allowedIpAddresses: ['192.0.2.0/24'] })
    const held = await admitted(token)
    expect(await answers(held, { ip: '192.0.2.2' })).toEqual(SERVED)
    await sluice.call('PUT', `/api/subscribe_token/${id}`, { isActive: false })
    expect(await answers(held, { ip: '192.0.2.3' })).toEqual(REFUSED.disabled)
    expect(await answers(held, { ip: '192.0.2.2' })).toEqual(SERVED)
    expect(await answers(held)).toEqual(SERVED)
  })

  test('rules that a token gets later apply to places that it admitted before', async () => {
    const { id, token } = await makeToken(sluice, 'subscribe', { deniedCountries: ['NZ'] })
    const held = await admitted(token)
    expect(await answers(held, { ip: '192.0.2.2' })).toEqual(SERVED)
    expect(await answers(held, { ip: '203.0.113.2' })).toEqual(SERVED)
    await sluice.call('PUT', `/api/subscribe_token/${id}`, { updateAllowedIpAddresses: ['192.0.2.0/24'] })
    expect(await answers(held, { ip: '203.0.113.2' })).toEqual(REFUSED.address)
    expect(await answers(held, { ip: '192.0.2.2' })).toEqual(SERVED)
    expect(await answers(held)).toEqual(SERVED)
  })

  test('a token without such rules, and an open stream, are not bound to a place', async () => {
    const { id, token } = await makeToken(sluice, 'subscribe')
    const remote = { ip: '203.0.113.4', origin: 'https://anywhere.example' }
    const [held, open] = [await admitted(token), await admitted('', {}, 'open')]
    await sluice.call('PUT', `/api/subscribe_token/${id}`, { isActive: false })
    expect(await answers(held, remote)).toEqual(SERVED)
    expect(await answers(open, remote)).toEqual(SERVED)
  })

  test('a cache that asks for a viewer gets the decision on this viewer', async () => {
    const { token } = await makeToken(sluice, 'subscribe', { allowedIpAddresses: [HOME] })
    const { playlist } = await admitted(token)
    const check = playlist.replace(/\/v0\/.*/, '/check')
    expect((await get(check)).status).toBe(204)
    expect(await get(check, { ip: '192.0.2.2' })).toEqual({ status: 401, text: REFUSED.address[0]!.slice(4) })
    expect((await get(check.replace('/check', 'x/check'))).status).toBe(401)
  })

  test('viewers of a node that others had given up go on there with their URLs, in other sessions', async () => {
    const { id, token } = await makeToken(sluice, 'subscribe')
    const held = await admitted(token)
    const { ctx } = sluice.app
    const [before] = ctx.sessions.ofToken(id)
    if (before === undefined) throw new Error('no session')
    await endSession(ctx, before, 'lost')
    expect(await answers(held)).toEqual(SERVED)
    const [after, ...more] = ctx.sessions.ofToken(id)
    expect([after?.session.id === before.session.id, more]).toEqual([false, []])
  })

  test('refused requests keep no session open', async () => {
    const { id, token } = await makeToken(sluice, 'subscribe', { bindIpsOnUsage: 1 })
    const { playlist } = await admitted(token)
    const isOn = () => sluice.app.ctx.sessions.ofToken(id).length === 1
    expect(isOn()).toBe(true)
    clock.speed = 10
    onTestFinished(() => void (clock.speed = 1))
    await until(async () => {
      await get(playlist, { ip: '192.0.2.99' })
      return !isOn()
    })
    expect(await get(playlist, { ip: '192.0.2.99' })).toEqual({ status: 401, text: REFUSED.address[0]!.slice(4) })
    expect((await get(playlist)).status).toBe(200)
  })

  test('viewers who left together left one after the other, each after a transaction of its own', async () => {
    const { id, token } = await makeToken(sluice, 'subscribe')
    for (let viewers = 0; viewers < 3; viewers++) await admitted(token)
    const { sessions, store } = sluice.app.ctx
    expect(sessions.ofToken(id)).toHaveLength(3)
    const answers = Promise.withResolvers<void>()
    const transaction = store.transaction.bind(store)
    const held = vi.spyOn(store, 'transaction').mockImplementation(async (work) => {
      await answers.promise
      return transaction(work)
    })
    onTestFinished(() => {
      answers.resolve()
      held.mockRestore()
      clock.speed = 1
    })
    clock.speed = 10
    await until(() => sessions.ofToken(id).length === 0)
  })
})
