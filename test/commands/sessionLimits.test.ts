import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { recordParameter } from '../../src/commands/access/authorize.ts'
import { admitPublisher, mayView } from '../../src/commands/sessions/admit.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import type { Protocol } from '../../src/core/access/protocols.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import {
  admit,
  attemptOf,
  type TestNode,
  makeToken,
  publish,
  startTestNode,
  tryToView,
  view,
} from '../support/testNode.ts'
import { until } from '../support/until.ts'

const MAX = 20
/** The share of viewers. */
const VIEWERS = 18

let at: TestNode
let tokens: { publish: string; subscribe: string; other: string }

beforeAll(async () => {
  const limits = { maxViewersPerAddress: 5, maxPublishersPerAddress: 3, maxConnectingPerAddress: 4 }
  at = await startTestNode({ max: MAX, flags: { sessions: limits, server: { trustedProxies: ['192.0.2.200'] } } })
  tokens = {
    publish: (await makeToken(at, 'publish')).token,
    subscribe: (await makeToken(at, 'subscribe')).token,
    other: (await makeToken(at, 'subscribe')).token,
  }
})
afterAll(() => at.close())
beforeEach(async () => {
  await publish(at, { presented: tokens.publish, ip: '203.0.113.1' })
})
afterEach(async () => {
  for (const { session } of at.ctx.sessions.all()) await closeSession(at.ctx, session.id, 'left')
})

/** HLS has no media connection that comes up after admission. */
const watch = (ip: string, presented = tokens.subscribe) => tryToView(at, { protocol: 'hls', presented, ip })
const broadcast = (ip: string) =>
  admitPublisher(at.ctx, attemptOf({ protocol: 'rtmp', presented: tokens.publish, streamName: ip, ip }), {
    sourceId: null,
    cut: () => Promise.resolve(),
  })
const addresses = (count: number, net = '198.51.100'): string[] =>
  Array.from({ length: count }, (_, n) => `${net}.${n}`)
const codes = (answers: readonly { ok: boolean; code?: string }[]) =>
  Object.fromEntries([...Map.groupBy(answers, ({ code = 'ok' }) => code)].map(([code, { length }]) => [code, length]))

describe('slots', () => {
  it('never exceed the limit, even under concurrent requests', async () => {
    const answers = await Promise.all(addresses(60).map((ip, n) => watch(ip, n % 2 ? tokens.subscribe : tokens.other)))
    expect(codes(answers)).toEqual({ ok: VIEWERS, too_many_sessions: 60 - VIEWERS })
    const publishers = await Promise.all(addresses(10, '192.0.2').map(broadcast))
    expect(codes(publishers)).toEqual({ ok: 1, too_many_sessions: 9 })
    expect(at.ctx.sessions.size).toBe(MAX)
  })

  it('are bounded per address (/64 for IPv6), and its viewers do not lock out its publishers', async () => {
    const school = await Promise.all(Array.from({ length: 8 }, () => watch('192.0.2.7')))
    expect(codes(school)).toEqual({ ok: 5, too_many_from_address: 3 })
    expect(school.at(-1)).toMatchObject({ status: 429, retryAfterSeconds: 5, message: /from this address/ })
    expect(await broadcast('192.0.2.7')).toMatchObject({ ok: true })
    const home = await Promise.all(Array.from({ length: 8 }, (_, n) => watch(`2001:db8:1:2:${n}::1`)))
    expect(codes(home)).toEqual({ ok: 5, too_many_from_address: 3 })
    expect(await watch('2001:db8:1:3::1')).toMatchObject({ ok: true })
    expect(codes(await Promise.all(Array.from({ length: 5 }, () => broadcast('192.0.2.8'))))).toEqual({
      ok: 3,
      too_many_from_address: 2,
    })
  })

  it('are not bounded for the address of a trusted proxy, behind which many may be', async () => {
    expect(codes(await Promise.all(Array.from({ length: 6 }, () => watch('192.0.2.200'))))).toEqual({ ok: 6 })
  })

  it('are not even asked for by one with a parameter that is refused, whose token may be unknown', async () => {
    await expect(recordParameter(at.ctx, attemptOf({ presented: 'unknown' }), 'x=y')).resolves.toBeUndefined()
  })

  it('are taken a hundred times in ten minutes by the viewers of an address, who would fill the record of sessions', async () => {
    for (let round = 0; round < 20; round += 1) {
      const came = await Promise.all(Array.from({ length: 5 }, () => watch('192.0.2.77')))
      expect(codes(came)).toEqual({ ok: 5 })
      await Promise.all(came.flatMap((one) => (one.ok ? [closeSession(at.ctx, one.session.id, 'left')] : [])))
    }
    expect(await watch('192.0.2.77')).toMatchObject({ status: 429, code: 'too_many_starts' })
    expect(await broadcast('192.0.2.77')).toMatchObject({ ok: true })
    expect(await watch('192.0.2.78')).toMatchObject({ ok: true })
  })

  it('are taken by publishers with one token at one address twice a second, and a loop reads why it has to wait', async () => {
    const { ctx } = at
    const { id, token: looping } = await makeToken(at, 'publish')
    const nowMs = Math.round(ctx.clock.monotonic())
    vi.spyOn(ctx.clock, 'monotonic').mockReturnValue(nowMs)
    const before = { action: 'publish', addressKey: '192.0.2.77', holder: `token ${id}` } as const
    for (let n = 0; n < 1199; n += 1) ctx.starts.note(before, nowMs)
    const begin = (protocol: Protocol, presented = looping) =>
      admitPublisher(ctx, attemptOf({ protocol, presented, streamName: 'loop', ip: '192.0.2.77' }), {
        sourceId: protocol,
        cut: () => Promise.resolve(),
      })
    expect(await begin('srt')).toMatchObject({ ok: true })
    for (const protocol of ['whip', 'rtmp', 'srt'] as const)
      expect(await begin(protocol)).toMatchObject({ status: 429, code: 'too_many_starts', retryAfterSeconds: 5 })
    // Sluice dials this one itself.
    expect(await begin('pull')).toMatchObject({ ok: true })
    expect(await begin('rtmp', tokens.publish)).toMatchObject({ ok: true })
    vi.restoreAllMocks()
    const { json } = await at.call('GET', `/api/access/log?tokenId=${id}&code=too_many_starts`)
    expect(json.data.map((row: Record<string, unknown>) => row['protocol']).toSorted()).toEqual(['rtmp', 'srt', 'whip'])
  })

  it('of one token are a share of all, so that a public token leaves some to others', async () => {
    const answers = await Promise.all(addresses(VIEWERS).map((ip) => watch(ip)))
    expect(codes(answers)).toEqual({ ok: 17, too_many_with_token: 1 })
    expect(await watch('192.0.2.9', tokens.other)).toMatchObject({ ok: true })
  })

  it('for pending media connections are few per address, and free again once connected', async () => {
    const offer = () => tryToView(at, { protocol: 'whep', presented: tokens.subscribe, ip: '192.0.2.7' })
    const answers = await Promise.all(Array.from({ length: 5 }, offer))
    expect(codes(answers)).toEqual({ ok: 4, too_many_connecting: 1 })
    const [first] = answers
    if (first?.ok) at.ctx.sessions.get(first.session.id)?.slot.connected()
    expect(await offer()).toMatchObject({ ok: true })
    expect(await broadcast('192.0.2.7')).toMatchObject({ ok: true })
  })

  it('bind no address when none is free', async () => {
    const bound = await makeToken(at, 'subscribe', { bindIpsOnUsage: 1 })
    const others = await Promise.all(Array.from({ length: 5 }, () => watch('192.0.2.7')))
    expect(codes(others)).toEqual({ ok: 5 })
    expect(await watch('192.0.2.7', bound.token)).toMatchObject({ status: 429 })
    expect(await watch('192.0.2.8', bound.token)).toMatchObject({ ok: true })
  })
})

describe('a slot is released', () => {
  const isEmpty = () => {
    const request = { action: 'view', addressKey: '192.0.2.7', holder: null, connects: true } as const
    const taken = Array.from({ length: 4 }, () => at.ctx.slots.refusal(request) === null && at.ctx.slots.take(request))
    for (const one of taken) if (one) one.release()
    return taken.every(Boolean)
  }
  const use = { protocol: 'whep', ip: '192.0.2.7' } as const

  it.each<[string, () => Promise<unknown>]>([
    [
      'that leaves',
      async () => closeSession(at.ctx, (await view(at, { ...use, presented: tokens.subscribe })).session.id, 'left'),
    ],
    [
      'whose token is deleted',
      async () => {
        const doomed = await makeToken(at, 'subscribe')
        await view(at, { ...use, presented: doomed.token })
        await at.call('DELETE', `/api/subscribe_token/${doomed.id}`)
        await until(() => at.ctx.sessions.ofToken(doomed.id).length === 0)
      },
    ],
    [
      'whose session is ended',
      async () =>
        at.call('DELETE', `/api/sessions/${(await view(at, { ...use, presented: tokens.subscribe })).session.id}`),
    ],
    ['without access', () => tryToView(at, { ...use, presented: 'f'.repeat(64) })],
    ['of an unpublished stream', () => tryToView(at, { ...use, presented: tokens.subscribe, streamName: 'none' })],
    [
      'that only asked for permission',
      () =>
        mayView(at.ctx, attemptOf({ ...use, action: 'view', accountId: at.accountId, presented: tokens.subscribe }), {
          sourceId: null,
        }),
    ],
    [
      'whose session could not be recorded',
      async () => {
        const { store } = at.ctx
        const ctx = { ...at.ctx, store: { ...store, transaction: () => Promise.reject(new StoreUnavailable('gone')) } }
        await expect(
          tryToView({ ctx, accountId: at.accountId }, { ...use, presented: tokens.subscribe }),
        ).rejects.toThrow('gone')
        for (const id of at.ctx.sessions.leaving.keys()) await closeSession(at.ctx, id, 'lost')
      },
    ],
  ])('by the viewer %s', async (_, act) => {
    for (let times = 0; times < 6; times += 1) await act()
    await until(isEmpty)
  })

  it('by a publisher that another one replaces', async () => {
    const before = await admit(at, { presented: tokens.publish, ip: '203.0.113.9', protocol: 'rtmp' })
    for (let times = 0; times < 6; times += 1)
      await publish(at, { presented: tokens.publish, ip: '203.0.113.9', protocol: 'rtmp' })
    await closeSession(at.ctx, before.session.id, 'left')
    await until(() => at.ctx.sessions.all().filter(({ session }) => session.address === '203.0.113.9').length === 1)
    expect(codes(await Promise.all([0, 1].map(() => broadcast('203.0.113.9'))))).toEqual({ ok: 2 })
  })
})

it('the access log records a refusal for lack of a slot, if the account is known', async () => {
  await Promise.all(Array.from({ length: 6 }, () => watch('192.0.2.66')))
  await Promise.all(Array.from({ length: 4 }, () => broadcast('192.0.2.66')))
  const { json } = await at.call('GET', '/api/access/log?address=192.0.2.66&code=too_many_from_address')
  expect(json.data).toMatchObject([
    { action: 'publish', protocol: 'rtmp', tokenId: expect.any(Number), allowed: false },
    {
      action: 'view',
      protocol: 'hls',
      allowed: false,
      message: 'Too many sessions from this address: try again later',
    },
  ])
  expect(await at.scrape()).toMatch(/sluice_refusals_total\{code="too_many_from_address"\} \d/)
})
