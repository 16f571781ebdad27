import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { admitPublisher, admitViewer, admitViewerAnywhere, mayView } from '../../src/commands/sessions/admit.ts'
import { countBytes } from '../../src/commands/sessions/count.ts'
import { followEngine } from '../../src/commands/sessions/mediaEngineEvents.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'
import { attemptOf, makeToken, publish, startTestNode, type TestNode, tryToView, view } from '../support/testNode.ts'
import { until } from '../support/until.ts'

const FULL = { ok: false, status: 503, code: 'node_full', retryAfterSeconds: 10 }
const LIMIT = 8
const request = { sourceId: null, cut: () => Promise.resolve() }

let clock: ManualClock
let engine: ScriptedEngine
let at: TestNode
let token: string

beforeEach(async () => {
  clock = new ManualClock()
  engine = new ScriptedEngine()
  at = await startTestNode({ clock, flags: { server: { maxEgressMegabits: LIMIT } } })
  followEngine(at.ctx, engine)
  token = (await makeToken(at, 'publish')).token
  await publish(at, { presented: token })
})
afterEach(() => at.close())

/** Six beats: what lasts for five seconds counts. */
function beat(load: number, meanMs = 1): void {
  for (let n = 0; n < 6; n++) {
    clock.advance(1000)
    engine.emit({ kind: 'waits', process: 0, meanMs, mostMs: meanMs, late: 0, load })
  }
}

/** Seven seconds in which the node sends what `sends` counts in each. */
function sendFor(sends: () => void): void {
  for (let n = 0; n < 7; n++) {
    sends()
    clock.advance(1000)
    at.ctx.nodeLoad.sample()
  }
}

/** The node sends this to a viewer for seven seconds. */
const send = (sessionId: string, megabits: number): void =>
  sendFor(() => {
    const { bytesOut = 0 } = at.ctx.sessions.get(sessionId)?.bytes ?? {}
    countBytes(at.ctx, sessionId, { bytesIn: 0, bytesOut: bytesOut + megabits * 125_000, silentMs: 0 })
  })

const tryOver = (protocol: 'whep' | 'hls') => tryToView(at, { protocol })
const broadcast = (protocol: 'whip' | 'rtmp', streamName = 'new') =>
  admitPublisher(at.ctx, attemptOf({ protocol, presented: token, streamName }), request)
const fullOf = async () => (await at.call('GET', '/api/nodes')).json.data.nodes[0].full
const gauges = async () => (await at.scrape()).match(/^sluice_node_full.*$/gm)

describe('at 85 % of its media processes a node', () => {
  it('refuses new viewers over WHEP and HLS, and says why everywhere; those who watch stay', async () => {
    const before = [await view(at), await view(at, { protocol: 'hls' })]
    beat(0.86)
    for (const protocol of ['whep', 'hls'] as const) {
      expect(await tryOver(protocol)).toMatchObject(FULL)
      const attempt = attemptOf({ action: 'view', protocol, accountId: at.accountId })
      expect(await mayView(at.ctx, attempt, request)).toMatchObject(FULL)
    }
    for (const { session, cuts } of before) expect([at.ctx.sessions.has(session.id), cuts]).toEqual([true, []])

    expect(await fullOf()).toEqual(['media'])
    expect(await gauges()).toEqual([
      'sluice_node_full{reason="sessions"} 0',
      'sluice_node_full{reason="media"} 1',
      'sluice_node_full{reason="egress"} 0',
    ])
    expect(await at.scrape()).toContain('sluice_refusals_total{code="node_full"} 4')
    expect((await at.call('GET', '/api/attention')).json.data).toContainEqual({
      kind: 'node_full',
      severity: 'error',
      text: expect.stringContaining('takes no new viewers. Its media processes are busy'),
      sentences: expect.arrayContaining([{ code: 'full_media', values: {} }]),
    })
    beat(0.7)
    expect(await tryOver('whep')).toMatchObject({ ok: true })
    expect(await fullOf()).toEqual([])
    expect((await gauges())?.[1]).toBe('sluice_node_full{reason="media"} 0')
  })

  it('has the refusal in the access log with a trace, and in the dry run of now, not in that of another time', async () => {
    const question = { action: 'view', protocol: 'whep', streamName: 'show', ip: '192.0.2.1' }
    const ask = async (more = {}, path = '/api/access/check') =>
      (await at.call('POST', path, { ...question, ...more })).json.data
    expect(await ask()).toMatchObject({ allowed: true })
    beat(0.9)
    const step = { check: 'node', outcome: 'fail', detail: expect.stringContaining('busy for 90 %') }
    const answer = await ask()
    expect(answer).toMatchObject({ allowed: false, code: 'node_full', message: /busy/ })
    expect(answer.trace.at(-1)).toEqual(step)
    // The second is answered with the help of the store.
    for (const path of ['/api/access/check', '/api/access/check/'])
      expect(await ask({ at: new Date(clock.now()).toISOString() }, path)).toMatchObject({ allowed: true })
    await tryOver('whep')
    const logged = await until(async () => {
      const { json } = await at.call('GET', '/api/access/log?code=node_full')
      return json.data.find(({ source }: { source: string }) => source === 'admission')
    }, 'the refusal in the log')
    const { json } = await at.call('GET', `/api/access/log/${logged.id}`)
    expect(json.data).toMatchObject({ allowed: false, trace: [step] })
  })

  it('takes publishers up to 95 %, those of streams that are there always, and those without a media process too', async () => {
    beat(0.94)
    expect(await broadcast('whip')).toMatchObject({ ok: true })
    beat(1)
    expect(await broadcast('whip', 'other')).toMatchObject(FULL)
    expect(await broadcast('rtmp', 'other')).toMatchObject({ ok: true })
    engine.rooms.add(`${at.accountId}/again`)
    expect(await broadcast('whip', 'again')).toMatchObject({ ok: true })
  })

  it('counts three beats behind with the media as busy, and a process that has died as free', async () => {
    beat(0.3, 400)
    expect(await tryOver('whep')).toMatchObject(FULL)
    engine.emit({ kind: 'died', process: 0, detail: 'exit 1', isHung: false, sessions: 0 })
    expect(await tryOver('whep')).toMatchObject({ ok: true })
  })

  it('takes viewers of other processes as long as there is one', async () => {
    Object.assign(engine, { processes: 2 })
    beat(1)
    expect(await fullOf()).toEqual([])
    expect(await tryOver('whep')).toMatchObject(FULL)
    expect(await tryOver('hls')).toMatchObject({ ok: true })
    engine.processFor = () => ({ process: 1, hasRoom: false })
    expect(await tryOver('whep')).toMatchObject({ ok: true })
  })

  it('sends viewers on to the node of their feed, which costs it nothing', async () => {
    const other = await startTestNode({ url: at.url, clock, hostKey: 'other' })
    await publish(other, { presented: token, streamName: 'far' })
    await at.node.check()
    beat(1)
    expect(await tryToView(at, { streamName: 'far' })).toMatchObject({ code: 'at_another_node' })
    const attempt = attemptOf({ action: 'view', protocol: 'hls', accountId: at.accountId, streamName: 'far' })
    expect(await admitViewerAnywhere(at.ctx, attempt, request)).toMatchObject(FULL)
    await other.close()
  })
})

describe('a node that is full, with another one that is free', () => {
  const URL_OF_OTHER = 'http://other.example'
  let other: TestNode
  beforeEach(async () => {
    other = await startTestNode({ url: at.url, clock, hostKey: 'other', nodeUrl: URL_OF_OTHER })
    beat(1)
  })
  afterEach(() => other.close())

  const REDIRECTED = { ok: false, status: 307, code: 'redirected', url: URL_OF_OTHER }
  const follows = { ...request, followsRedirects: true }
  const viewing = (protocol: 'hls' | 'whep') => attemptOf({ action: 'view', protocol, accountId: at.accountId })
  const publishing = attemptOf({ protocol: 'whip', presented: '', streamName: 'new' })

  it('redirects viewers over HLS and publishers there, and says in log and metrics where', async () => {
    expect(await mayView(at.ctx, viewing('hls'), follows)).toMatchObject(REDIRECTED)
    expect(await admitPublisher(at.ctx, { ...publishing, presented: token }, follows)).toMatchObject(REDIRECTED)
    expect(await admitPublisher(at.ctx, { ...publishing, presented: 'wrong' }, follows)).toMatchObject({ status: 401 })
    expect(await at.scrape()).toContain('sluice_refusals_total{code="redirected"} 2')
    const logged = await until(async () => {
      const { json } = await at.call('GET', '/api/access/log?code=redirected')
      return json.data.find(({ action }: { action: string }) => action === 'publish')
    }, 'the redirect in the log')
    const { json } = await at.call('GET', `/api/access/log/${logged.id}`)
    expect(json.data.trace.at(-1).detail).toMatch(/busy for 100 %.*; redirected to http:\/\/other\.example$/)
  })

  it('redirects no client that was redirected before or cannot follow, and no WHEP viewer where nodes lend no streams', async () => {
    expect(await mayView(at.ctx, viewing('hls'), { ...follows, followsRedirects: false })).toMatchObject(FULL)
    expect(await admitPublisher(at.ctx, { ...publishing, presented: token }, request)).toMatchObject(FULL)
    expect(await admitViewer(at.ctx, viewing('whep'), follows)).toMatchObject(FULL)
  })

  it('refuses when the other one drains, and asks the database once a second', async () => {
    expect(await mayView(at.ctx, viewing('hls'), follows)).toMatchObject(REDIRECTED)
    await at.ctx.store.transaction((tx) => tx.nodes.drain(other.ctx.sessions.node))
    expect(await mayView(at.ctx, viewing('hls'), follows)).toMatchObject(REDIRECTED)
    clock.advance(1000)
    expect(await mayView(at.ctx, viewing('hls'), follows)).toMatchObject(FULL)
  })
})

describe('at server.maxEgressMegabits a node', () => {
  it('refuses new viewers until it sends less than nine tenths of it, and takes publishers', async () => {
    const { session } = await view(at)
    send(session.id, LIMIT - 1)
    expect(await tryOver('hls')).toMatchObject({ ok: true })
    send(session.id, LIMIT)
    for (const protocol of ['whep', 'hls'] as const) expect(await tryOver(protocol)).toMatchObject(FULL)
    expect(await broadcast('whip')).toMatchObject({ ok: true })
    expect(await fullOf()).toEqual(['egress'])
    expect(await at.scrape()).toContain(`sluice_egress_bits_per_second ${LIMIT * 1_000_000}`)
    send(session.id, LIMIT * 0.95)
    expect(await tryOver('hls')).toMatchObject(FULL)
    send(session.id, LIMIT * 0.8)
    expect(await tryOver('hls')).toMatchObject({ ok: true })
  })

  it('counts what goes to channels and targets too, and a new limit holds at once', async () => {
    const { counts } = at.ctx.sessions
    sendFor(() => (counts.otherBytesOut += LIMIT * 125_000))
    expect(await tryOver('hls')).toMatchObject(FULL)
    const { config, holder } = at.app
    holder.replace({ ...config, server: { ...config.server, maxEgressMegabits: 0 } })
    at.ctx.nodeLoad.sample()
    expect(await tryOver('whep')).toMatchObject({ ok: true })
  })

  it('takes a pause of its own for no overload, whatever was sent in it', async () => {
    const { counts } = at.ctx.sessions
    sendFor(() => (counts.otherBytesOut += 1))
    counts.otherBytesOut += 10 ** 9
    clock.advance(10_000)
    at.ctx.nodeLoad.sample()
    expect(await tryOver('hls')).toMatchObject({ ok: true })
    expect(await at.scrape()).toContain('sluice_egress_bits_per_second 0')
  })
})

it('a node whose slots for viewers are taken says so, while its publishers still find some', async () => {
  const small = await startTestNode({ url: at.url, clock, max: 10, hostKey: 'small' })
  await publish(small, { presented: token, streamName: 'small' })
  for (let n = 0; n < 9; n++) await view(small, { streamName: 'small', ip: `192.0.2.${n}`, protocol: 'hls' })
  expect(small.ctx.nodeLoad.reading().full).toEqual(['sessions'])
  const again = attemptOf({ protocol: 'rtmp', presented: token, streamName: 'two' })
  expect(await tryToView(small, { streamName: 'small' })).toMatchObject({ code: 'too_many_sessions' })
  expect(await admitPublisher(small.ctx, again, request)).toMatchObject({ ok: false, code: 'too_many_sessions' })
  await small.close()
})
