import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Agent, get as httpGet } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encoded } from '../media/ffmpeg/frames.ts'
import { type Answer, runApp, type RunningApp } from '../support/app.ts'
import { broadcast } from '../support/broadcast.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'

const FLAGS = { server: { trustedProxies: ['127.0.0.1'] }, hls: { reportingCaches: ['127.0.0.1'] } }
let sluice: RunningApp

beforeAll(async () => {
  sluice = await runApp({ flags: FLAGS })
  const recorded = await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25, size: '320x180' })
  await broadcast(sluice, recorded, { token: { subscribeRequiresAuth: true } })
})
afterAll(() => sluice.close())

const PEER = '192.0.2.7'
const PLAYER = 'VLC/3.0.21 LibVLC/3.0.21'
const get = (path: string): Promise<Answer> =>
  sluice.call('GET', path, undefined, { authorization: '', 'x-forwarded-for': PEER, 'user-agent': PLAYER })

interface Watching {
  readonly trackingId: string
  readonly ticket: string
  readonly stream: string
  /** A piece of its stream. */
  readonly piece: string
}

/** A viewer behind the cache, with a tracking id of its own. */
async function watch(trackingId: string): Promise<Watching> {
  const { token } = await makeToken(sluice, 'subscribe', { tracking: { trackingId } })
  const master = `/hls/${sluice.accountId}/show/index.m3u8?auth=${token}`
  const { text } = await get(master)
  const path = new URL(/^[^#\s]+$/m.exec(text)?.[0] ?? '', `http://x${master}`).pathname
  const playlist = await get(path)
  expect(playlist.status, playlist.text).toBe(200)
  const [, ticket = '', stream = ''] = /~([^/]+)\/([^/]+)/.exec(path) ?? []
  return {
    trackingId,
    ticket,
    stream,
    piece: path.replace('media.m3u8', /init-[\w-]+\.mp4/.exec(playlist.text)?.[0] ?? ''),
  }
}

const newLog = (): string => randomBytes(32).toString('hex')
const post = (body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  sluice.call('POST', '/hls/cache-log', body, { authorization: '', ...headers })
const sent = ({ ticket, stream }: Watching, bytes: number) => ({ ticket, stream, answers: 10, bytes })

const DAY_MS = 86_400_000
const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
const dates = (): string => `startDate=${day(Date.now() - DAY_MS)}&stopDate=${day(Date.now() + DAY_MS)}`

async function usageOf({ trackingId }: Watching) {
  const { json } = await sluice.call('GET', `/api/analytics/tracking/total?${dates()}&trackingIds=${trackingId}`)
  return json.data[trackingId][0] as { streamName: string; bytesOut: number; bytesFromCaches?: number } | undefined
}

/** The same once its master playlist is counted. */
async function counted(viewer: Watching) {
  await until(async () => (await usageOf(viewer)) !== undefined)
  return usageOf(viewer)
}

async function sessionOf({ trackingId }: Watching) {
  const { json } = await sluice.call('GET', '/api/sessions?action=view&limit=100')
  return json.data.find((one: { trackingId?: string }) => one.trackingId === trackingId)
}

const ignored = { forged: 0, unknown: 0 }

test('a report counts for session, stream, tracking id and country, marked as from a cache', async () => {
  const viewer = await watch('counted')
  const before = await counted(viewer)
  expect(before).not.toHaveProperty('bytesFromCaches')
  const { status, json, text } = await post({ log: newLog(), from: 0, to: 900, sent: [sent(viewer, 5000)] })
  expect({ status, json }, text).toEqual({ status: 200, json: { isCounted: true, position: 900, ignored } })
  expect(await usageOf(viewer)).toMatchObject({
    streamName: 'show',
    bytesOut: (before?.bytesOut ?? 0) + 5000,
    bytesFromCaches: 5000,
  })
  const session = await sessionOf(viewer)
  expect(session).toMatchObject({ bytesFromCaches: 5000 })
  expect(session.bytesOut).toBeGreaterThan(5000)
  const all = await sluice.call('GET', `/api/analytics/account/geo_total?${dates()}`)
  expect(all.json.data.geo.ZZ.bytesFromCaches).toBeGreaterThanOrEqual(5000)
  const csv = await sluice.call('GET', `/api/analytics/tracking/total?${dates()}&trackingIds=counted`, undefined, {
    accept: 'text/csv',
  })
  expect(csv.text.split('\r\n')[0]).toBe('trackingId,streamName,bytesOut,bytesIn,bytesFromCaches')
  const ids = await sluice.call('GET', `/api/analytics/tracking/ids?${dates()}&prefix=counted`)
  expect(ids.json.data).toMatchObject([{ trackingId: 'counted', bytesFromCaches: 5000 }])
  const metrics = await sluice.call('GET', '/metrics')
  expect(metrics.text).toMatch(/^sluice_cache_log_bytes_total [5-9]\d{3}/m)
})

test('what Sluice sends to a cache that reports does not count, and the master playlist does', async () => {
  const viewer = await watch('origin')
  const before = await counted(viewer)
  expect(before?.bytesOut).toBeGreaterThan(0)
  for (const path of [viewer.piece, viewer.piece, viewer.piece.replace(/[^/]+$/, 'media.m3u8')])
    expect((await get(path)).status).toBe(200)
  await get(viewer.piece.replace(/[^/]+\/[^/]+$/, 'check'))
  expect(await usageOf(viewer)).toEqual(before)
  const next = await watch('next on the connection')
  expect((await counted(next))?.bytesOut).toBeLessThan(2 * (before?.bytesOut ?? 0))
})

test('checks of a cache count for no viewer, though they come on the connection of its requests', async () => {
  await sluice.reload({ ...FLAGS, hls: {} })
  const viewer = await watch('checked')
  const before = (await counted(viewer))?.bytesOut ?? 0
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const headers = { 'x-forwarded-for': PEER }
  const onOne = async (path: string): Promise<number> => {
    const [response] = await once(httpGet(sluice.base + path, { agent, headers }), 'response')
    return (await buffer(response)).length
  }
  for (let times = 0; times < 40; times += 1) await onOne(viewer.piece.replace(/[^/]+\/[^/]+$/, 'check'))
  const bytes = await onOne(viewer.piece)
  const risen = async () => ((await usageOf(viewer))?.bytesOut ?? 0) - before
  await until(async () => (await risen()) >= bytes)
  expect(await risen()).toBeLessThan(bytes + 2000)
  agent.destroy()
  await sluice.reload(FLAGS)
})

test('a batch that is sent again counts once, and the answer says how far the log is counted', async () => {
  const viewer = await watch('replayed')
  const batch = { log: newLog(), from: 0, to: 500, sent: [sent(viewer, 3000)] }
  const answers = await Promise.all([post(batch), post(batch), post(batch)])
  expect(answers.map(({ json }) => json.position)).toEqual([500, 500, 500])
  expect(answers.filter(({ json }) => json.isCounted)).toHaveLength(1)
  expect((await post({ ...batch, from: 499, to: 800 })).json).toMatchObject({ isCounted: false, position: 500 })
  expect((await post({ ...batch, from: 0, to: 0, sent: [] })).json).toMatchObject({ isCounted: false, position: 500 })
  expect(await usageOf(viewer)).toMatchObject({ bytesFromCaches: 3000 })
  expect((await post({ ...batch, from: 500, to: 800 })).json).toMatchObject({ isCounted: true, position: 800 })
  expect(await usageOf(viewer)).toMatchObject({ bytesFromCaches: 6000 })
})

test('a forged ticket, one of another stream and one without a session count for nothing; the others count', async () => {
  const viewer = await watch('beside')
  const forged = { ...sent(viewer, 1), ticket: viewer.ticket.replace(/^./, (one) => (one === '1' ? '2' : '1')) }
  const foreign = { ...sent(viewer, 1), stream: `${viewer.stream}x` }
  const { token } = await makeToken(sluice, 'subscribe')
  const master = await get(`/hls/${sluice.accountId}/show/index.m3u8?auth=${token}`)
  const unused = { ...sent(viewer, 1), ticket: /~([^/]+)/.exec(master.text)?.[1] ?? '' }
  const { json } = await post({ log: newLog(), from: 0, to: 9, sent: [forged, foreign, unused, sent(viewer, 70)] })
  expect(json).toEqual({ isCounted: true, position: 9, ignored: { forged: 2, unknown: 1 } })
  expect(await usageOf(viewer)).toMatchObject({ bytesFromCaches: 70 })
  const { text } = await sluice.call('GET', '/metrics')
  expect(text).toContain('sluice_cache_log_ignored_total{reason="forged"} 2')
  expect(text).toContain('sluice_cache_log_ignored_total{reason="unknown"} 1')
})

test('bytes count for stream and tracking id after the session has ended', async () => {
  const viewer = await watch('ended')
  await sluice.call('DELETE', `/api/sessions/${(await sessionOf(viewer)).id}`)
  await until(async () => (await sessionOf(viewer)) === undefined)
  const { json } = await post({ log: newLog(), from: 0, to: 9, sent: [sent(viewer, 400)] })
  expect(json).toEqual({ isCounted: true, position: 9, ignored })
  expect(await usageOf(viewer)).toMatchObject({ streamName: 'show', bytesFromCaches: 400 })
})

test('only a cache that is named may report, and only by itself', async () => {
  const batch = { log: newLog(), from: 0, to: 0, sent: [] }
  for (const name of ['x-forwarded-for', 'forwarded', 'via', 'x-real-ip', 'origin']) {
    const { status, text } = await post(batch, { [name]: PEER })
    expect([status, text]).toEqual([403, expect.stringContaining('must report by itself')])
  }
  for (const flags of [
    { ...FLAGS, hls: { reportingCaches: ['192.0.2.1'] } },
    { ...FLAGS, server: { trustedProxies: ['192.0.2.1'] } },
  ]) {
    await sluice.reload(flags)
    const { status, text } = await post(batch)
    expect([status, text]).toEqual([403, expect.stringContaining('hls.reportingCaches')])
  }
  await sluice.reload(FLAGS)
  expect((await post(batch)).status).toBe(200)
})

const batch = { log: 'a'.repeat(64), from: 0, to: 100, sent: [] as unknown[] }
const one = { ticket: 'a', stream: 's', answers: 1, bytes: 1 }

test.each<[string, unknown]>([
  ['no object', []],
  ['a log without its name', { ...batch, log: 'mine' }],
  ['a position below zero', { ...batch, from: -1 }],
  ['a position that is no number', { ...batch, to: '100' }],
  ['an end before the beginning', { ...batch, from: 101 }],
  ['a position beyond all logs', { ...batch, to: 2e15 }],
  ['no list', { ...batch, sent: one }],
  ['too many tickets', { ...batch, sent: Array.from({ length: 1001 }, () => one) }],
  ['bytes without lines', { ...batch, to: 0, sent: [one] }],
  ['bytes below zero', { ...batch, sent: [{ ...one, bytes: -1 }] }],
  ['half a byte', { ...batch, sent: [{ ...one, bytes: 0.5 }] }],
  ['more bytes than answers can have', { ...batch, sent: [{ ...one, bytes: 300e6 }] }],
  ['more answers than fit', { ...batch, sent: [{ ...one, answers: 1e9 }] }],
  ['bytes beyond numbers', { ...batch, sent: [{ ...one, bytes: 1e300 }] }],
  ['a ticket with a path', { ...batch, sent: [{ ...one, ticket: '../a' }] }],
  ['a ticket that is too long', { ...batch, sent: [{ ...one, ticket: 'a'.repeat(5000) }] }],
  ['no stream', { ...batch, sent: [{ ...one, stream: undefined }] }],
])('a report with %s is refused, and counts nothing', async (_name, body) => {
  const { status, text } = await post(body)
  expect([status, text]).toEqual([400, expect.stringMatching(/^Bad request: \S.{10,}/)])
  expect((await post({ ...batch, to: 0 })).json).toMatchObject({ position: 0 })
})

test('a report that is too long is refused', async () => {
  expect((await post(`{"log":"${'a'.repeat(2_000_000)}"}`)).status).toBe(413)
})

test('a viewer has the families of its player, and not its text', async () => {
  await watch('families')
  const [entry] = sluice.app.ctx.sessions.all().filter(({ session }) => session.trackingId === 'families')
  expect(entry?.session.client).toEqual({ device: 'desktop', browser: 'VLC' })
  expect(JSON.stringify(await sluice.app.ctx.store.read.sessions.get(entry?.session.id ?? ''))).not.toContain('LibVLC')
})
