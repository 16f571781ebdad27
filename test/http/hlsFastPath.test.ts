import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { SPLICED_MIN_BYTES } from '../../src/base/segmentMemory.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { type Answer, runApp, type RunningApp } from '../support/app.ts'
import { alike as ofOneServer, RawConnection, requestFor } from '../support/rawConnection.ts'
import { broadcast } from '../support/broadcast.ts'
import { FastClock } from '../support/fastClock.ts'
import { encoded } from '../media/ffmpeg/frames.ts'

/** Of the media. */
const clock = new FastClock(1)
let sluice: RunningApp
/** The addresses of pieces, with the ticket of a session. */
let pieces: { segment: string; init: string; part: string }
let sessionId: string

beforeAll(async () => {
  sluice = await runApp({ flags: { hls: { refuseSharedTickets: false } } })
  await broadcast(sluice, await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25 }), {
    speed: 4,
    clock,
  })
  const at = `/hls/${sluice.accountId}/show/`
  const text = async (path: string) => (await sluice.call('GET', path, undefined, { authorization: '' })).text
  const [uri = ''] = /^[^#\s]+$/m.exec(await text(`${at}index.m3u8`)) ?? []
  const media = new URL(uri, `${sluice.base}${at}`).pathname
  const playlist = await text(media)
  const named = (pattern: RegExp): string => media.replace('media.m3u8', pattern.exec(playlist)?.[1] ?? '')
  pieces = {
    segment: named(/\n(s\d+\.m4s\S*)\n(?![^]*\ns\d)/),
    init: named(/"(init-[^"]+)/),
    part: named(/"(p\d+[^"]+)",INDEPENDENT/),
  }
  sessionId = sluice.app.ctx.sessions.all().find(({ session }) => media.includes(session.id))?.session.id ?? ''
})
afterAll(async () => {
  await sluice.close()
  clock.close()
})

const get = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> =>
  sluice.call(method, path, undefined, { authorization: '', ...headers })

/** The fast path leaves a request with an unknown query to the framework, which ignores the query. */
const ROUTE = '?via=route'

const alike = ({ status, headers, text }: Answer) => {
  const { date: _, 'x-request-id': id, ...others } = Object.fromEntries(headers)
  return { status, headers: others, text, hasId: /^\S{8,}-\w+$/.test(id ?? '') }
}

const changed = (path: string): string => path.replace(/(?<=~.{30})./, (one) => (one === 'A' ? 'B' : 'A'))

it.each<[string, () => string, Record<string, string>, string, number]>([
  ['a segment', () => pieces.segment, {}, 'GET', 200],
  ['the head', () => pieces.segment, {}, 'HEAD', 200],
  ['a range', () => pieces.segment, { range: 'bytes=10-19' }, 'GET', 206],
  ['a range beyond the end', () => pieces.segment, { range: 'bytes=99999999-' }, 'GET', 416],
  ['the beginning', () => pieces.init, {}, 'GET', 200],
  ['a part', () => pieces.part, {}, 'GET', 200],
  ['a segment that is not there yet', () => pieces.segment.replace(/s\d+(?=\.m4s)/, 's4000000000'), {}, 'GET', 404],
  ['another rendition', () => pieces.segment.replace('/v0/', '/v1/'), {}, 'GET', 404],
  ['another stream', () => pieces.segment.replace('/v0/', 'x/v0/'), {}, 'GET', 401],
  ['another spelling', () => pieces.segment.replace(/s(?=\d+\.m4s)/, 's0'), {}, 'GET', 404],
  ['a forged ticket', () => changed(pieces.segment), {}, 'GET', 401],
])('the fast path and the framework answer alike: %s', async (_name, path, headers, method, status) => {
  const long = await get(path() + ROUTE, headers, method)
  const short = await get(path(), headers, method)
  expect(long.status).toBe(status)
  expect(alike(short)).toEqual(alike(long))
  const connection = await RawConnection.to(sluice.base)
  const first = await connection.ask(path() + ROUTE, headers, method)
  for (let times = 0; times < 2; times++) {
    expect(ofOneServer(await connection.ask(path(), headers, method))).toEqual(ofOneServer(first))
  }
})

it('the fast path serves no viewer whose session the store may still refuse', async () => {
  const { sessions, store } = sluice.app.ctx
  const [, ticket] = /~([^/]+)/.exec((await get(`/hls/${sluice.accountId}/show/index.m3u8`)).text) ?? []
  const init = pieces.init.replace(/~[^/]+/, `~${ticket}`)
  const refusal = Promise.withResolvers<never>()
  const transaction = vi.spyOn(store, 'transaction').mockImplementation(() => refusal.promise)
  onTestFinished(() => transaction.mockRestore())
  const first = get(init + ROUTE)
  await expect.poll(() => sessions.get(ticket?.split('.')[0] ?? '')?.isEntering).toBe(true)
  const second = get(init)
  await get('/')
  refusal.reject(new StoreUnavailable('the database does not answer'))
  expect([(await first).status, (await second).status]).toEqual([503, 503])
})

it('counts the bytes of the fast path for their session', async () => {
  const { ctx } = sluice.app
  const counted = () => ctx.sessions.get(sessionId)?.bytes.bytesOut ?? 0
  const before = counted()
  let sent = 0
  for (let times = 0; times < 5; times += 1) sent += Buffer.byteLength((await get(pieces.init)).text)
  await expect.poll(counted).toBeGreaterThanOrEqual(before + sent)
})

it('counts the bytes of segments that the addon sends, and of requests that it reads', async () => {
  const { ctx, segmentMemory } = sluice.app
  const { addon } = segmentMemory
  const [send, answer] = [addon && vi.spyOn(addon, 'send'), addon && vi.spyOn(addon, 'answer')]
  onTestFinished(() => {
    send?.mockRestore()
    answer?.mockRestore()
  })
  const counted = () => ctx.sessions.get(sessionId)?.bytes ?? { bytesIn: 0, bytesOut: 0 }
  const before = counted()
  const connection = await RawConnection.to(sluice.base)
  let [bytesIn, bytesOut] = [before.bytesIn, before.bytesOut]
  for (let times = 0; times < 4; times++) {
    const { head, body } = await connection.ask(pieces.segment)
    expect(body.length).toBeGreaterThan(SPLICED_MIN_BYTES)
    bytesOut += head.length + 4 + body.length
    bytesIn += requestFor(pieces.segment).length
  }
  await expect.poll(counted).toEqual({ bytesIn, bytesOut })
  expect([send?.mock.calls.length, answer?.mock.calls.length]).toEqual(addon ? [1, 3] : [undefined, undefined])
})

it('the fast path and the framework answer alike: a part that is gone', async () => {
  clock.speed = 8
  onTestFinished(() => void (clock.speed = 1))
  await expect.poll(async () => (await get(pieces.part)).status).toBe(404)
  expect(alike(await get(pieces.part))).toEqual(alike(await get(pieces.part + ROUTE)))
})

it('the fast path refuses an ended session at once, and on a connection that it used before', async () => {
  const connection = await RawConnection.to(sluice.base)
  for (let times = 0; times < 3; times++) expect((await connection.ask(pieces.init)).status).toBe(200)
  await sluice.call('DELETE', `/api/sessions/${sessionId}`)
  await expect.poll(async () => (await get(pieces.init)).status).toBe(401)
  expect((await connection.ask(pieces.init)).status).toBe(401)
})
