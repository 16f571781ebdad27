import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { captureThumbnail } from '../../src/commands/recordings/thumbnails.ts'
import { TICKET_SHARED } from '../../src/core/access/refusals.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { type Broadcast, broadcast } from '../support/broadcast.ts'
import { FastClock } from '../support/fastClock.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'
import { encoded, type Recorded } from '../media/ffmpeg/frames.ts'
import { readPlaylist } from '../media/hls/readPlaylist.ts'

const run = promisify(execFile)
/** Of the server. It passes as that of the machine, but for what is waited for. */
const clock = new FastClock(1)
let sluice: RunningApp
let recorded: Recorded
const onAir: Broadcast[] = []

beforeAll(async () => {
  recorded = await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25, size: '320x180' })
  sluice = await runApp({ clock, flags: { hls: { sessionSeconds: 6, idleSeconds: 2 } } })
})
afterEach(async () => {
  clock.speed = 1
  for (const begun of onAir.splice(0)) await begun.end()
})
afterAll(async () => {
  await sluice.close()
  clock.close()
})

async function live(options: Parameters<typeof broadcast>[2] = {}): Promise<Broadcast> {
  const begun = await broadcast(sluice, recorded, options)
  onAir.push(begun)
  return begun
}

const masterUrl = (query = '', stream = 'show') => `${sluice.base}/hls/${sluice.accountId}/${stream}/index.m3u8${query}`

async function get(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers })
  const bytes = Buffer.from(await response.arrayBuffer())
  return { status: response.status, headers: response.headers, bytes, text: bytes.toString() }
}

const uris = (playlist: string): string[] => playlist.split('\n').filter((line) => line !== '' && !line.startsWith('#'))

const ticketOf = (url: string): string => /\/~([^/]+)/.exec(url)?.[1] ?? ''

const mediaOf = ({ text }: { text: string }): string => new URL(uris(text)[0]!, masterUrl()).href

/** The master playlist, the media playlist and the files in it, as a player follows them. */
async function follow(query = '', headers: Record<string, string> = {}, stream = 'show') {
  const master = await get(masterUrl(query, stream), headers)
  expect(master.status, master.text).toBe(200)
  const mediaUrl = mediaOf(master)
  const media = await get(mediaUrl)
  const [, init] = /EXT-X-MAP:URI="([^"]+)"/.exec(media.text) ?? []
  const segments = uris(media.text).map((uri) => new URL(uri, mediaUrl).href)
  return { master, mediaUrl, media, initUrl: new URL(init!, mediaUrl).href, segments }
}

test('an open stream plays without a token, in real players, from the playlist alone', async () => {
  await live()
  const args = ['-v', 'error', '-read_intervals', '%+2', '-count_packets', '-show_streams', '-of', 'json']
  const { stdout } = await run('ffprobe', [...args, masterUrl()])
  const { streams } = JSON.parse(stdout) as { streams: { codec_name: string; nb_read_packets: string }[] }
  expect(streams.map((stream) => stream.codec_name)).toEqual(['h264', 'aac'])
  expect(Number(streams[0]!.nb_read_packets)).toBeGreaterThan(20)
})

test('types, caching, CORS and ranges suit players, pages and caches', async () => {
  await live()
  const { master, media, segments, initUrl, mediaUrl } = await follow()
  expect(master.text).toMatch(/^#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-STREAM-INF:BANDWIDTH=\d+,CODECS="avc1\./)
  for (const { headers } of [master, media]) {
    expect(headers.get('content-type')).toBe('application/vnd.apple.mpegurl')
    expect(headers.get('access-control-allow-origin')).toBe('*')
  }
  expect(master.headers.get('cache-control')).toBe('no-store')
  expect(media.headers.get('cache-control')).toBe('no-cache')
  expect([media.headers.get('vary'), media.headers.get('content-encoding')]).toEqual(['Accept-Encoding', 'gzip'])
  expect((await get(mediaUrl, { 'accept-encoding': 'gzip;q=0' })).headers.get('content-encoding')).toBeNull()
  const segment = await get(segments[0]!)
  expect(segment.headers.get('content-type')).toBe('video/mp4')
  expect(segment.headers.get('cache-control')).toBe('public, max-age=3600, immutable')
  const gone = await get(segments[0]!.replace(/s\d+(?=\.m4s)/, 's1'))
  expect([gone.status, gone.headers.get('cache-control')]).toEqual([404, 'public, max-age=1'])
  for (const { headers } of [master, media, segment, gone]) expect(headers.get('referrer-policy')).toBe('no-referrer')
  const part = await get(segments[0]!, { range: 'bytes=10-19' })
  expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 10-19/${segment.bytes.length}`])
  expect(part.bytes.equals(segment.bytes.subarray(10, 20))).toBe(true)
  expect((await get(initUrl, { range: 'bytes=99999999-' })).status).toBe(416)
  const head = await fetch(mediaUrl, { method: 'HEAD' })
  expect([head.status, head.headers.get('content-type')]).toEqual([200, 'application/vnd.apple.mpegurl'])
  const preflight = await fetch(masterUrl(), { method: 'OPTIONS', headers: { origin: 'https://a.example' } })
  expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([
    204,
    expect.stringContaining('Authorization'),
  ])
})

describe('access', () => {
  const refusal = async (query: string, headers: Record<string, string> = {}) => {
    const { status, text } = await get(masterUrl(query), headers)
    return [status, text]
  }

  test('a secured stream takes a token as bearer or in the query, and gives the reason of a refusal', async () => {
    await live({ token: { subscribeRequiresAuth: true } })
    const { token } = await makeToken(sluice, 'subscribe')
    const other = await makeToken(sluice, 'subscribe', { streams: [{ streamName: 'other' }] })
    expect(await refusal('')).toEqual([401, 'Unauthorized: Invalid token'])
    expect(await refusal(`?auth=${other.token}`)).toEqual([401, 'Unauthorized: StreamName is not valid for token'])
    expect((await follow(`?auth=${token}`)).media.status).toBe(200)
    expect((await follow('', { authorization: `Bearer ${token}` })).media.status).toBe(200)
  })

  test('an unpublished stream is a 404 with Retry-After', async () => {
    const { token } = await makeToken(sluice, 'subscribe')
    const { status, text, headers } = await get(masterUrl(`?auth=${token}`, 'nobody-here'))
    expect([status, text, headers.get('retry-after')]).toEqual([404, 'Stream not being published', '2'])
  })

  test('a ticket that is altered, foreign or missing opens nothing', async () => {
    await live()
    await live({ streamName: 'second' })
    const [mine, other] = [await follow(), await follow('', {}, 'second')]
    const segment = mine.segments.at(-1)!
    const ticket = ticketOf(segment)
    const [ours, theirs] = [mine, other].map(({ mediaUrl }) => mediaUrl.split('/').at(-3)!) as [string, string]
    const [sessionId, token, mac] = ticket.split('.') as [string, string, string]
    const forged = [mine.mediaUrl, segment, mine.initUrl].flatMap((url) => [
      url.replace(`~${ticket}`, '~'),
      url.replace(ticket, `${sessionId}.${token}.${mac.slice(0, -1)}${mac.endsWith('A') ? 'Q' : 'A'}`),
      url.replace(ticket, `${sessionId}.1.${mac}`),
      url.replace(ticket, ticketOf(other.mediaUrl)),
      url.replace(ours, theirs),
    ])
    for (const url of forged) expect([url, (await get(url)).status]).toEqual([url, 401])
    // The segment from before may have left the playlist meanwhile.
    const newest = uris((await get(mine.mediaUrl)).text).at(-1)!
    expect((await get(new URL(newest, mine.mediaUrl).href)).status).toBe(200)
  })

  test('a check of a cache answers only proxies that Sluice trusts', async () => {
    await live()
    const { mediaUrl } = await follow()
    expect((await get(mediaUrl.replace(/\/v0\/.*/, '/check'))).status).toBe(403)
  })

  test('a ticket opens the thumbnail while its token would open the stream, and the session of its viewer is left alone', async () => {
    const { feed } = await live({ token: { subscribeRequiresAuth: true } })
    await captureThumbnail(sluice.app.ctx, feed, Buffer.from('ffd8ff', 'hex'))
    const { id, token } = await makeToken(sluice, 'subscribe', { allowedOrigins: ['tv.example'] })
    const origin = { origin: 'https://tv.example' }
    const master = await get(masterUrl(`?auth=${token}`), origin)
    const mediaUrl = new URL(uris(master.text)[0]!, masterUrl()).href
    const url = mediaUrl.replace(/\/[^/]+\/media\.m3u8$/, '/thumbnail.jpeg')
    const before = sluice.app.ctx.sessions.all().length
    expect(await get(url, origin)).toMatchObject({ status: 200, bytes: Buffer.from('ffd8ff', 'hex') })
    expect(sluice.app.ctx.sessions.all().length).toBe(before)
    expect(await get(url)).toMatchObject({ status: 401, text: 'Unauthorized: Origin not allowed' })
    const ticket = ticketOf(url)
    for (const wrong of [`${ticket.slice(0, -1)}${ticket.endsWith('A') ? 'Q' : 'A'}`, 'x', ''])
      expect((await get(url.replace(`~${ticket}`, `~${wrong}`), origin)).status).toBe(401)

    // A session that is ended on purpose takes its ticket with it.
    expect((await get(mediaUrl, origin)).status).toBe(200)
    const [sessionId = ''] = ticket.split('.')
    expect((await sluice.call('DELETE', `/api/sessions/${sessionId}`)).status).toBe(200)
    await until(async () => (await get(url, origin)).status === 401)
    const other = await get(masterUrl(`?auth=${token}`), origin)
    const otherUrl = new URL(uris(other.text)[0]!, masterUrl()).href.replace(/\/[^/]+\/media\.m3u8$/, '/thumbnail.jpeg')
    expect((await get(otherUrl, origin)).status).toBe(200)
    await sluice.call('DELETE', `/api/subscribe_token/${id}`)
    expect((await get(otherUrl, origin)).status).toBe(401)
  })

  test('no log line holds a ticket', async () => {
    await live()
    const { ctx } = sluice.app
    const lines: string[] = []
    const loggers = [ctx.log, ctx.sampled.answers, ctx.sampled.refusals]
    const spies = loggers.flatMap((logger) =>
      (['info', 'warn', 'error'] as const).map((level) =>
        vi.spyOn(logger, level).mockImplementation((...line) => void lines.push(JSON.stringify(line))),
      ),
    )
    const { mediaUrl, segments } = await follow()
    const urls = [mediaUrl, segments[0]!].flatMap((url) => [url, `${url}x`, url.replace('/v0/', '/../'), `${url}/%zz`])
    for (const url of urls) await get(url)
    for (const spy of spies) spy.mockRestore()
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.filter((line) => line.includes(ticketOf(mediaUrl).slice(0, 22)))).toEqual([])
  })

  test('everything but the master playlist is the same bytes for all viewers, and holds no ticket', async () => {
    await live()
    const [mine, other] = [await follow(), await follow()]
    const tail = (url: string): string => url.split('/').slice(-3).join('/')
    expect(ticketOf(mine.mediaUrl)).not.toBe(ticketOf(other.mediaUrl))
    expect([other.mediaUrl, other.initUrl].map(tail)).toEqual([mine.mediaUrl, mine.initUrl].map(tail))
    const both = (fileOf: (viewer: typeof mine) => string) =>
      Promise.all([mine, other].map((each) => get(fileOf(each))))
    const { query } = announced(other.media.text)
    const waited = await both(({ mediaUrl }) => mediaUrl + query)
    for (const [one, same] of [
      waited,
      await both(({ segments }) => segments[0]!),
      await both(({ initUrl }) => initUrl),
    ]) {
      expect([one!.status, same!.status]).toEqual([200, 200])
      expect(one!.text === same!.text && one!.bytes.length > 0).toBe(true)
    }
    expect(waited[0]!.headers.get('cache-control')).toBe('public, max-age=0, s-maxage=6')
    expect(waited[0]!.text).not.toMatch(/~|\?/)
  })

  test('when the token is deleted, the URLs of its sessions stop working at once, and no others', async () => {
    await live({ token: { subscribeRequiresAuth: true } })
    const [kept, taken] = [await makeToken(sluice, 'subscribe'), await makeToken(sluice, 'subscribe')]
    const staying = await follow(`?auth=${kept.token}`)
    const leaving = await follow(`?auth=${taken.token}`)
    expect((await get(leaving.segments[0]!)).status).toBe(200)
    await sluice.call('DELETE', `/api/subscribe_token/${taken.id}`)
    await until(async () => (await get(leaving.mediaUrl)).status === 401)
    expect((await get(leaving.segments[0]!)).status).toBe(401)
    expect((await get(leaving.initUrl)).status).toBe(401)
    expect((await get(staying.mediaUrl)).status).toBe(200)
    expect((await get(staying.segments[0]!)).status).toBe(200)
  })
})

describe('an address that several players use', () => {
  test('is refused with its reason, on record, and only this one', async () => {
    await live({ token: { subscribeRequiresAuth: true } })
    const { token, id } = await makeToken(sluice, 'subscribe')
    const [shared, other] = [await follow(`?auth=${token}`), await follow(`?auth=${token}`)]
    const [segment] = shared.segments as [string]
    const answers = await Promise.all(Array.from({ length: 10 }, () => get(segment).catch(() => null)))
    expect(answers.filter((answer) => answer?.status === 200).length).toBeLessThanOrEqual(3)
    for (const url of [segment, shared.mediaUrl, shared.initUrl])
      expect([(await get(url)).status, (await get(url)).text]).toEqual([403, TICKET_SHARED.text])
    expect((await get(other.segments[0]!)).status).toBe(200)
    expect((await follow(`?auth=${token}`)).media.status).toBe(200)
    const logged = async () => (await sluice.call('GET', '/api/access/log?code=ticket_shared')).json.data
    await until(async () => (await logged()).length === 1)
    expect((await logged())[0]).toMatchObject({ tokenId: id, protocol: 'hls', streamName: 'show', allowed: false })
    const ended = () => sluice.app.ctx.store.read.sessions.get(ticketOf(segment).split('.')[0]!)
    await until(async () => (await ended())?.endReason === 'ticket_shared')
  })

  test('is found by its reloads, too', async () => {
    await live()
    const { mediaUrl } = await follow()
    const reloads = () => Promise.all(Array.from({ length: 40 }, () => get(mediaUrl)))
    await until(async () => (await reloads()).some(({ status }) => status === 403))
  })
})

/** The part that a playlist announces, and the numbers by which a player waits for it. */
function announced(text: string) {
  const { segments, mediaSequence, hint } = readPlaylist(text)
  const open = text.slice(text.lastIndexOf('#EXTINF')).match(/#EXT-X-PART:/g)?.length ?? 0
  const [, uri = ''] = /#EXT-X-PRELOAD-HINT:TYPE=PART,URI="([^"]+)"/.exec(text) ?? []
  return { name: hint, uri, query: `?_HLS_msn=${mediaSequence + segments.length}&_HLS_part=${open}` }
}

test('low latency: a player waits for the next part and gets it as soon as it exists', async () => {
  await live({ speed: 2 })
  const { mediaUrl, media } = await follow()
  expect(media.text).toMatch(
    /#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,HOLD-BACK=6.000,PART-HOLD-BACK=1.050\n#EXT-X-PART-INF:PART-TARGET=0.350/,
  )
  const next = announced(media.text)
  const [part, blocked] = await Promise.all([get(new URL(next.uri, mediaUrl).href), get(mediaUrl + next.query)])
  expect(part.status).toBe(200)
  expect(readPlaylist(blocked.text).all).toContain(next.name)
  const { mediaSequence } = readPlaylist(media.text)
  expect((await get(`${mediaUrl}?_HLS_msn=${mediaSequence + 50}`)).status).toBe(400)
  expect((await get(`${mediaUrl}?_HLS_part=1`)).status).toBe(400)
})

test('low latency: every part that a playlist announces comes, under the same URL', async () => {
  await live({ speed: 3 })
  const { mediaUrl, media } = await follow()
  let { text } = media
  for (let parts = 0; parts < 20; parts++) {
    const next = announced(text)
    const [part, blocked] = await Promise.all([get(new URL(next.uri, mediaUrl).href), get(mediaUrl + next.query)])
    expect([next.name, part.status]).toEqual([next.name, 200])
    expect(blocked.text).toContain(`URI="${next.uri}"`)
    text = blocked.text
  }
})

test('low latency: the first blocking playlist after an init segment has two new parts', async () => {
  await live({ speed: 2 })
  const { mediaUrl, media, initUrl } = await follow()
  expect((await get(initUrl)).status).toBe(200)
  const { text } = await get(mediaUrl + announced(media.text).query)
  const known = readPlaylist(media.text).all
  expect(readPlaylist(text).all.filter((name) => !known.includes(name)).length).toBeGreaterThanOrEqual(2)
})

test('bytes on the connections are counted per session', async () => {
  await live()
  const { segments, mediaUrl } = await follow()
  const [session] = sluice.app.ctx.sessions.all().filter((entry) => mediaUrl.includes(entry.session.id))
  const before = session!.bytes.bytesOut
  const { bytes } = await get(segments[0]!)
  await until(() => session!.bytes.bytesOut > before)
  const counted = session!.bytes.bytesOut - before
  expect(counted).toBeGreaterThan(bytes.length)
  expect(counted).toBeLessThan(bytes.length + 2000)
  expect(session!.bytes.bytesIn).toBeGreaterThan(100)
})

test('a viewer without requests has left, a stream without requests is no longer packaged, and both may come back', async () => {
  const { player } = await live()
  const { mediaUrl } = await follow()
  const isOn = () => sluice.app.ctx.sessions.all().some(({ session }) => mediaUrl.includes(session.id))
  expect([isOn(), player.subscribers]).toEqual([true, 1])
  clock.speed = 10
  await until(() => !isOn() && player.subscribers === 0)
  expect((await get(mediaUrl)).status).toBe(200)
  expect([isOn(), player.subscribers]).toEqual([false, 1])
  const viewers = sluice.app.ctx.sessions.all().filter(({ session }) => session.action === 'view')
  expect(viewers).toHaveLength(1)
})

test('when a new publisher replaces the first, players continue after a discontinuity', async () => {
  await live()
  const { mediaUrl } = await follow()
  const [session] = sluice.app.ctx.sessions.all().filter(({ session: one }) => mediaUrl.includes(one.id))
  await live()
  const playlist = async () => (await get(mediaUrl)).text
  await until(async () => /#EXT-X-DISCONTINUITY\n(.*\n)+s\d+\.m4s/.test(await playlist()))
  const text = await playlist()
  expect(text).not.toContain('#EXT-X-ENDLIST')
  const [newest] = uris(text).slice(-1)
  expect((await get(new URL(newest!, mediaUrl).href)).status).toBe(200)
  expect(sluice.app.ctx.sessions.get(session!.session.id)).toBeDefined()
  // A new viewer sees the same stream at the same address, but for the ticket.
  const late = await follow()
  expect(late.mediaUrl.replace(ticketOf(late.mediaUrl), ticketOf(mediaUrl))).toBe(mediaUrl)
  expect(uris(late.media.text).length).toBeGreaterThan(2)
})

test('when a secured feed replaces an open one, viewers without a token get the end of the stream', async () => {
  await live()
  const { mediaUrl } = await follow()
  await live({ token: { subscribeRequiresAuth: true } })
  await until(async () => (await get(mediaUrl)).text.includes('#EXT-X-ENDLIST'))
  expect((await get(masterUrl())).status).toBe(401)
})

test('when a publisher that was killed is back, players continue after a discontinuity; if it stays away, they get the end', async () => {
  const killed = await live()
  const { mediaUrl } = await follow()
  const playlist = async () => (await get(mediaUrl)).text
  await killed.vanish()
  expect(await playlist()).not.toContain('#EXT-X-ENDLIST')
  const again = await live()
  await until(async () => /#EXT-X-DISCONTINUITY\n(.*\n)+s\d+\.m4s/.test(await playlist()))
  expect(await playlist()).not.toContain('#EXT-X-ENDLIST')
  await again.vanish()
  expect(await playlist()).not.toContain('#EXT-X-ENDLIST')
  // Between two requests passes less than after which a stream is no longer packaged.
  clock.speed = 3
  await until(async () => (await playlist()).includes('#EXT-X-ENDLIST'))
})

test('when the publisher says goodbye, players get the end of the stream', async () => {
  const begun = await live()
  const { mediaUrl } = await follow()
  await begun.end()
  await until(async () => (await get(mediaUrl)).text.includes('#EXT-X-ENDLIST'))
  const { token } = await makeToken(sluice, 'subscribe')
  expect((await get(masterUrl(`?auth=${token}`))).status).toBe(404)
})

test('a player that comes for its first playlist after the end gets what is left, if its token may, while it is there', async () => {
  const begun = await live({ token: { subscribeRequiresAuth: true } })
  const [late, refused] = [await makeToken(sluice, 'subscribe'), await makeToken(sluice, 'subscribe')]
  const comes = async ({ token }: { token: string }) => mediaOf(await get(masterUrl(`?auth=${token}`)))
  const [lateUrl, refusedUrl] = [await comes(late), await comes(refused)]
  const { mediaUrl } = await follow(`?auth=${late.token}`)
  await begun.end()
  await until(async () => (await get(mediaUrl)).text.includes('#EXT-X-ENDLIST'))
  await sluice.call('DELETE', `/api/subscribe_token/${refused.id}`)
  expect((await get(refusedUrl)).status).toBe(401)
  expect(await get(lateUrl)).toMatchObject({ status: 200, text: expect.stringContaining('#EXT-X-ENDLIST') })
  clock.speed = 10
  await until(() => sluice.app.ctx.sessions.size === 0) // The packaging ends before.
  expect((await get(lateUrl)).status).toBe(503)
})
