import { afterAll, beforeAll, expect, it } from 'vitest'
import { encoded } from '../media/ffmpeg/frames.ts'
import { qualityByHour } from '../../src/core/quality/sessionQuality.ts'
import { type Answer, runApp, type RunningApp } from '../support/app.ts'
import { RawConnection } from '../support/rawConnection.ts'
import { broadcast } from '../support/broadcast.ts'

let sluice: RunningApp
let media: string
let segment: string
let report: string
let sessionId: string

beforeAll(async () => {
  sluice = await runApp({ flags: { hls: { refuseSharedTickets: false } } })
  await broadcast(sluice, await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25 }), { speed: 4 })
  const at = `/hls/${sluice.accountId}/show/`
  const text = async (path: string) => (await get(path)).text
  const [uri = ''] = /^[^#\s]+$/m.exec(await text(`${at}index.m3u8`)) ?? []
  media = new URL(uri, `${sluice.base}${at}`).pathname
  segment = media.replace('media.m3u8', /"(init-[^"]+)/.exec(await text(media))?.[1] ?? '')
  report = media.replace(/[^/]+\/media\.m3u8$/, 'report')
  sessionId = sluice.app.ctx.sessions.all().find(({ session }) => media.includes(session.id))?.session.id ?? ''
})
afterAll(() => sluice.close())

const get = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
  sluice.call('GET', path, undefined, { authorization: '', ...headers })

const REPORT = {
  n: 1,
  start: 700,
  played: 0,
  stalls: 1,
  stalled: 400,
  frames: 40,
  dropped: 2,
  switches: 1,
  height: 720,
}

/** As a page sends it with `sendBeacon`. */
const send = (body: unknown, path = report): Promise<Response> =>
  fetch(`${sluice.base}${path}`, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) })

/** What the session reported, all hours as one; null: nothing. */
function sumsOf() {
  let text = '[]'
  const open = sluice.app.ctx.sessions.get(sessionId)
  sluice.app.ctx.playerReports.with(sessionId, open, (quality) => {
    text = quality.toText()
    return false
  })
  const hours = [...qualityByHour(text).values()].map(({ sums }) => sums)
  return hours.reduce<Record<string, number> | null>(
    (sum, hour) => Object.fromEntries(Object.entries(hour).map(([name, n]) => [name, n + (sum?.[name] ?? 0)])),
    null,
  )
}

const bytesOf = () => sluice.app.ctx.sessions.get(sessionId)?.bytes

it('takes the report of a player by its ticket, from a page of any site', async () => {
  const answer = await send(REPORT)
  expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([204, '*'])
  expect(sumsOf()).toMatchObject({
    players: 1,
    starts: 1,
    startMs: 700,
    stalls: 1,
    frames: 40,
    dropped: 2,
    switches: 1,
  })
})

it('changes nothing by a report that is repeated, forged, oversized or malformed', async () => {
  const before = sumsOf()
  expect((await send({ ...REPORT, stalls: 9 })).status).toBe(204)
  const forged = report.replace(/(?<=~.{30})./, (one) => (one === 'A' ? 'B' : 'A'))
  expect((await send({ ...REPORT, n: 2, stalls: 9 }, forged)).status).toBe(404)
  expect((await send({ ...REPORT, n: 2, stalls: 9 }, report.replace('/report', 'x/report'))).status).toBe(404)
  expect((await send(`${' '.repeat(400)}{}`)).status).toBe(413)
  const wrong = await send({ ...REPORT, n: 2, stalls: -1 })
  expect([wrong.status, await wrong.text()]).toEqual([400, 'Bad request: stalls must be a whole number from 0'])
  expect(sumsOf()).toEqual(before)
})

it('counts no bytes for a report, also on the connection of the media', async () => {
  const connection = await RawConnection.to(sluice.base)
  await connection.ask(segment)
  await expect.poll(() => bytesOf()?.bytesOut).toBeGreaterThan(0)
  const before = bytesOf()
  const body = JSON.stringify({ ...REPORT, n: 3 })
  connection.socket.write(
    `POST ${report} HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  expect((await connection.answer()).status).toBe(204)
  expect(bytesOf()).toEqual(before)
  const { head, body: piece } = await connection.ask(segment)
  const sent = head.length + 4 + piece.length
  await expect.poll(() => bytesOf()?.bytesOut).toBe((before?.bytesOut ?? 0) + sent)
})

it('reads CMCD in the address and in headers, from the route, the fast path and the addon alike', async () => {
  const before = sumsOf()
  const cmcd = `CMCD=${encodeURIComponent('bl=2000,bs,mtp=3000,sid="a,b"')}`
  const headers = { 'CMCD-Request': 'bl=2000,mtp=3000', 'CMCD-Status': 'bs' }
  expect((await get(`${media}?${cmcd}`)).status).toBe(200)
  expect((await get(media, headers)).status).toBe(200)
  const connection = await RawConnection.to(sluice.base)
  for (let times = 0; times < 3; times++) {
    expect((await connection.ask(`${segment}?${cmcd}`)).status).toBe(200)
    expect((await connection.ask(segment, headers)).status).toBe(200)
  }
  const grown = (name: string) => (sumsOf()?.[name] ?? 0) - (before?.[name] ?? 0)
  expect(['cmcdPlayers', 'starved', 'bufferMs', 'bufferReports', 'kbps'].map(grown)).toEqual([1, 8, 16_000, 8, 24_000])
})

it('refuses more reports than a player has to send, and says when to come back', async () => {
  const statuses = []
  for (let n = 10; n < 30; n++) statuses.push((await send({ ...REPORT, n })).status)
  expect(statuses.at(-1)).toBe(429)
})

it('takes nothing when it is switched off, and says so', async () => {
  const before = sumsOf()
  await sluice.reload({ hls: { refuseSharedTickets: false }, analytics: { playerReports: false } })
  const answer = await send({ ...REPORT, n: 50 })
  expect([answer.status, await answer.text()]).toEqual([403, 'Forbidden: analytics.playerReports is false'])
  await get(media, { 'CMCD-Status': 'bs' })
  expect(sumsOf()).toEqual(before)
})
