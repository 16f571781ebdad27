import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { captureThumbnail } from '../../src/commands/recordings/thumbnails.ts'
import { signSubscribeToken } from '../../src/sign.ts'
import { LatestThumbnails } from '../../src/services/latestThumbnails.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { browserOf } from '../support/dashboard.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'
import { makeToken, publish, view } from '../support/testNode.ts'

/** Of 320 by 180 pixels: the header of its frame comes behind two other segments. */
const JPEG = Buffer.from('ffd8ffe000044a46ffffdb00031fffc0000b0800b40140010111', 'hex')

let sluice: RunningApp
beforeAll(async () => {
  sluice = await runApp({
    flags: {
      rtmp: { enabled: false },
      server: { trustedProxies: ['127.0.0.1'] },
      sessions: { maxViewersPerAddress: 1 },
    },
    engine: new ScriptedEngine(),
  })
})
afterAll(() => sluice.close())

const at = () => ({ ctx: sluice.app.ctx, accountId: sluice.accountId })
const path = (streamName: string) => `/api/streams/${encodeURIComponent(streamName)}/thumbnail`
const why = async (streamName: string) => {
  const { status, json } = await sluice.call('GET', path(streamName))
  return [status, json.data.streamName]
}
const feedOf = (streamName: string) => {
  const feed = at().ctx.sessions.feeds.get(sluice.accountId, streamName, null)
  if (!feed) throw new Error('not on the air')
  return feed
}

it('answers the latest thumbnail of a stream while it is on the air, and a reason when there is none', async () => {
  expect(await why('cam/1')).toEqual([404, 'No stream of this name is on the air'])
  const plain = await makeToken(sluice, 'publish')
  await publish(at(), { presented: plain.token, streamName: 'plain' })
  expect(await why('plain')).toEqual([404, expect.stringContaining('set enableThumbnails')])
  const { token } = await makeToken(sluice, 'publish', { enableThumbnails: true })
  const { session } = await publish(at(), { presented: token, streamName: 'cam/1' })
  expect(await why('cam/1')).toEqual([404, expect.stringContaining('No thumbnail was taken yet')])
  await captureThumbnail(at().ctx, feedOf('cam/1'), Buffer.from('older'))
  await captureThumbnail(at().ctx, feedOf('cam/1'), JPEG)
  const response = await fetch(sluice.base + path('cam/1'), { headers: { authorization: `Bearer ${sluice.secret}` } })
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/jpeg'])
  expect(Buffer.from(await response.arrayBuffer())).toEqual(JPEG)
  const etag = response.headers.get('etag') ?? ''
  expect((await sluice.call('GET', path('cam/1'), undefined, { 'if-none-match': etag })).status).toBe(304)
  const viewer = await browserOf(sluice, 'viewer')
  expect((await viewer.call('GET', path('cam/1').slice('/api'.length))).status).toBe(200)
  expect((await fetch(sluice.base + path('cam/1'))).status).toBe(401)
  await closeSession(at().ctx, session.id, 'left')
  expect(await why('cam/1')).toEqual([404, 'No stream of this name is on the air'])
})

it('is taken on demand, of a stream or of all of a token, six times a minute', async () => {
  const taken: string[] = []
  at().ctx.latestThumbnails.onRequest(({ streamName }) => taken.push(streamName))
  const request = (body: unknown) => sluice.call('POST', '/api/thumbnails', body)
  const { id, token } = await makeToken(sluice, 'publish')
  for (const streamName of ['shot/1', 'shot/2']) await publish(at(), { presented: token, streamName })
  const one = await request({ streamName: 'shot/1', tokenId: null })
  expect([one.status, one.json]).toEqual([200, { status: 'success', data: true }])
  expect((await request({ tokenId: id })).status).toBe(200)
  expect((await request({ streamName: 'shot/2', tokenId: id })).status).toBe(200)
  expect(taken.toSorted()).toEqual(['shot/1', 'shot/1', 'shot/2', 'shot/2'])
  for (let n = 0; n < 5; n++) expect((await request({ streamName: 'shot/1' })).status).toBe(200)
  const refused = await request({ streamName: 'shot/1' })
  expect([refused.status, refused.json.data.message]).toEqual([429, expect.stringContaining('6 a minute')])
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await request({ streamName: 'shot/2' })).status).toBe(200)
  expect(taken).toHaveLength(10)
})

it.each([
  [404, { streamName: 'absent' }, { streamName: 'No stream of this name is on the air' }],
  [404, { tokenId: 999_999 }, { tokenId: expect.any(String) }],
  [400, {}, { errors: { streamName: [expect.stringContaining('is required')] } }],
  [400, { streamName: 7 }, { errors: { streamName: [expect.any(String)] } }],
  [400, { streamId: 'a/b' }, { errors: { streamId: [expect.stringContaining('unknown property')] } }],
])('is not taken on demand: %i for %j', async (status, body, data) => {
  const refused = await sluice.call('POST', '/api/thumbnails', body)
  expect([refused.status, refused.json.data]).toEqual([status, expect.objectContaining(data)])
})

describe('for viewers, beside the master playlist', () => {
  let open: string
  let secured: string

  beforeAll(async () => {
    open = await onAir('open', { enableThumbnails: true })
    secured = await onAir('secured', { enableThumbnails: true, subscribeRequiresAuth: true })
  })

  /** A stream with a thumbnail. Returns its path. */
  async function onAir(streamName: string, body: object): Promise<string> {
    const { token } = await makeToken(sluice, 'publish', body)
    await publish(at(), { presented: token, streamName })
    await captureThumbnail(at().ctx, feedOf(streamName), JPEG)
    return `/hls/${sluice.accountId}/${streamName}`
  }

  const get = (pathname: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(sluice.base + pathname, { method, headers })
  const thumbnail = (stream: string, query = '', headers: Record<string, string> = {}) =>
    get(`${stream}/thumbnail.jpeg${query}`, headers)
  const statusOf = async (...args: Parameters<typeof thumbnail>) => (await thumbnail(...args)).status
  const from = (address: string) => ({ 'x-forwarded-for': address })
  const subscribe = (body: object = {}) => makeToken(sluice, 'subscribe', body)

  it('needs what HLS needs: nothing for an open stream, else a token where HLS takes it', async () => {
    const response = await thumbnail(open)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/jpeg'])
    expect(Buffer.from(await response.arrayBuffer())).toEqual(JPEG)
    const { id, token } = await subscribe()
    expect(await statusOf(secured)).toBe(401)
    expect(await statusOf(secured, `?auth=${token}`)).toBe(200)
    expect(await statusOf(secured, '', { authorization: `Bearer ${token}` })).toBe(200)
    const signed = { token, tokenId: id, streamName: 'secured', expiresInSeconds: 60 }
    expect(await statusOf(secured, `?auth=${signSubscribeToken(signed)}`)).toBe(200)
    // An open stream refuses a wrong token, as HLS does.
    expect(await statusOf(open, '?auth=wrong')).toBe(401)
  })

  it('is refused for the same reasons and in the same form as the master playlist', async () => {
    const { token: ofOther } = await subscribe({ streams: [{ streamName: 'other' }] })
    const { token: origins } = await subscribe({ allowedOrigins: ['tv.example'] })
    const { token: addresses } = await subscribe({ allowedIpAddresses: ['192.0.2.0/24'] })
    const { token: countries } = await subscribe({ allowedCountries: ['NZ'] })
    const { id, token: disabled } = await subscribe()
    await sluice.call('PUT', `/api/subscribe_token/${id}`, { isActive: false })
    const { token, id: tokenId } = await subscribe()
    const past = new Date(Date.now() - 3_600_000)
    const expired = signSubscribeToken({ token, tokenId, streamName: 'secured', expiresInSeconds: 60, now: past })
    const { token: publishToken } = await makeToken(sluice, 'publish')
    const attempts: [string, Record<string, string>][] = [
      ['', {}],
      ...['wrong', ofOther, disabled, expired, publishToken].map((value): [string, object & {}] => [value, {}]),
      [origins, {}],
      [origins, { origin: 'https://evil.example' }],
      [addresses, from('198.51.100.1')],
      [countries, {}],
    ].map(([value, headers]) => [value === '' ? '' : `?auth=${value as string}`, headers as Record<string, string>])
    const refusals: string[] = []
    for (const [query, headers] of attempts) {
      const [one, other] = [
        await thumbnail(secured, query, headers),
        await get(`${secured}/index.m3u8${query}`, headers),
      ]
      const seen = async (answer: Response) => ({
        status: answer.status,
        text: await answer.text(),
        ...shapeOf(answer),
      })
      const refused = await seen(one)
      expect(refused).toEqual(await seen(other))
      expect(refused.status).toBe(401)
      refusals.push(refused.text)
    }
    expect(new Set(refusals).size).toBeGreaterThan(5)
    expect(await statusOf(secured, `?auth=${origins}`, { origin: 'https://tv.example' })).toBe(200)
    expect(await statusOf(secured, `?auth=${addresses}`, from('192.0.2.7'))).toBe(200)
  })

  const SHAPE = ['content-type', 'cache-control', 'www-authenticate', 'access-control-allow-origin', 'retry-after']
  const shapeOf = ({ headers }: Response) => Object.fromEntries(SHAPE.map((name) => [name, headers.get(name)]))

  it('says why there is no picture, to those who may watch', async () => {
    await publish(at(), { presented: (await makeToken(sluice, 'publish')).token, streamName: 'bare' })
    const bare = await thumbnail(`/hls/${sluice.accountId}/bare`)
    expect([bare.status, await bare.text()]).toEqual([404, expect.stringContaining('set enableThumbnails')])
    const gone = await thumbnail(`/hls/${sluice.accountId}/gone`, `?auth=${(await subscribe()).token}`)
    expect([gone.status, await gone.text()]).toEqual([404, 'Stream not being published'])
  })

  it('uses up no address of a token that binds them, and refuses addresses that are not bound', async () => {
    const { id, token } = await subscribe({ bindIpsOnUsage: 1 })
    const bound = async () => {
      const found = await at().ctx.cache.tokenById(id)
      return [...(found?.snapshot.boundAddresses ?? [])]
    }
    for (const address of ['192.0.2.1', '192.0.2.2'])
      expect(await statusOf(secured, `?auth=${token}`, from(address))).toBe(200)
    expect(await bound()).toEqual([])
    const viewer = await view(at(), { presented: token, streamName: 'secured', ip: '192.0.2.3' })
    expect(await bound()).toEqual(['192.0.2.3'])
    expect(await statusOf(secured, `?auth=${token}`, from('192.0.2.3'))).toBe(200)
    const refused = await thumbnail(secured, `?auth=${token}`, from('192.0.2.1'))
    expect([refused.status, await refused.text()]).toEqual([401, 'Unauthorized: IP Address not allowed'])
    await closeSession(at().ctx, viewer.session.id, 'left')
  })

  it('is no viewer: no session, no event of an attempt, and no place among the viewers of an address', async () => {
    const { sessions } = at().ctx
    const before = sessions.all().length
    const here = from('203.0.113.9')
    const viewer = await view(at(), { streamName: 'open', ip: '203.0.113.9' })
    expect((await get(`${open}/index.m3u8`, here)).status).toBe(429)
    for (let times = 0; times < 5; times++) expect(await statusOf(open, '', here)).toBe(200)
    await closeSession(at().ctx, viewer.session.id, 'left')
    expect(sessions.all().length).toBe(before)
    const { token } = await subscribe()
    expect(await statusOf(`/hls/${sluice.accountId}/nothing`, `?auth=${token}`, here)).toBe(404)
    expect(sessions.attempts.has(`${sluice.accountId}/nothing`)).toBe(false)
  })

  it('may be shown by pages of every origin, and is asked for again at the cost of a 304', async () => {
    const { token } = await subscribe()
    const seen = await thumbnail(secured, `?auth=${token}`, { origin: 'https://any.example' })
    expect(Object.fromEntries(seen.headers)).toMatchObject({
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
      'referrer-policy': 'no-referrer',
      'cache-control': 'private, max-age=2',
    })
    expect((await thumbnail(open)).headers.get('cache-control')).toBe('public, max-age=2')
    const again = await thumbnail(secured, `?auth=${token}`, { 'if-none-match': seen.headers.get('etag') ?? '' })
    expect([again.status, await again.text(), again.headers.get('cache-control')]).toEqual([
      304,
      '',
      'private, max-age=2',
    ])
    // A tag opens nothing.
    expect(await statusOf(secured, '', { 'if-none-match': seen.headers.get('etag') ?? '' })).toBe(401)
    await captureThumbnail(at().ctx, feedOf('secured'), Buffer.from('another'))
    expect(await statusOf(secured, `?auth=${token}`, { 'if-none-match': seen.headers.get('etag') ?? '' })).toBe(200)
  })
})

it('keeps so many bytes of thumbnails, and drops the oldest first', () => {
  let end = (_feed: string): void => undefined
  const watch = (listener: (feed: never, what: 'ended') => void) => {
    end = (feedId) => listener({ feedId } as never, 'ended')
    return () => undefined
  }
  const thumbnails = new LatestThumbnails({ watch }, 100)
  const put = (feedId: string, bytes: number) => thumbnails.put({ feedId }, new Uint8Array(bytes), 1)
  const kept = () => ['a', 'b', 'c'].filter((feedId) => thumbnails.of(feedId) !== undefined)
  put('a', 40)
  put('b', 40)
  put('a', 50)
  expect(kept()).toEqual(['a', 'b'])
  put('c', 20)
  expect(kept()).toEqual(['a', 'c'])
  end('a')
  put('b', 80)
  expect(kept()).toEqual(['b', 'c'])
})

it('is in the preview of a link to an open stream on the air, and in that of no secured one', async () => {
  const previewed = async (streamName: string): Promise<string | undefined> => {
    const page = await (await fetch(`${sluice.base}/watch/${sluice.accountId}/${streamName}`)).text()
    return /<meta property="og:image" content="([^"]*)"/.exec(page)?.[1]
  }
  for (const [streamName, subscribeRequiresAuth] of [
    ['shared', false],
    ['private', true],
  ] as const) {
    const streams = [{ streamName }]
    const { token } = await makeToken(sluice, 'publish', { enableThumbnails: true, subscribeRequiresAuth, streams })
    const { session } = await publish(at(), { presented: token, streamName })
    expect(await previewed(streamName)).toBe(undefined)
    await captureThumbnail(at().ctx, feedOf(streamName), JPEG)
    const link = `${sluice.base}/watch/${sluice.accountId}/${streamName}`
    const oembed = async (more = '') =>
      (await (await fetch(`${sluice.base}/oembed?url=${encodeURIComponent(link)}${more}`)).json()) as object
    const expected = `${sluice.base}/hls/${sluice.accountId}/${streamName}/thumbnail.jpeg`
    const sized = { thumbnail_url: expected, thumbnail_width: 320, thumbnail_height: 180 }
    if (subscribeRequiresAuth) expect(await oembed()).not.toHaveProperty('thumbnail_url')
    else expect(await oembed('&maxwidth=320')).toMatchObject(sized)
    expect(await oembed('&maxwidth=319')).not.toHaveProperty('thumbnail_url')
    expect(await previewed(streamName)).toBe(subscribeRequiresAuth ? undefined : expected)
    if (!subscribeRequiresAuth) expect(Buffer.from(await (await fetch(expected)).arrayBuffer())).toEqual(JPEG)
    await closeSession(at().ctx, session.id, 'left')
    expect(await previewed(streamName)).toBe(undefined)
  }
})
