import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { crc32, deflateSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { clip } from '../support/clips.ts'
import { type ChannelsClient, credential, runChannels, strangerOf } from '../support/channelsClient.ts'

let live: ChannelsClient
let id: string
beforeAll(async () => {
  live = await runChannels()
})
beforeEach(async () => {
  id = (await live.made('POST', '/channels', { name: 'Stage' })).id
})
afterAll(async () => {
  // No check leaves a file.
  expect(readdirSync(join(live.running.dataDir, 'channels'))).toEqual([])
  await live.close()
})

const IMAGE = '-f lavfi -i testsrc2=s=320x180 -frames:v 1'
const png = (): Buffer => clip(IMAGE, 'png')
const film = (seconds: number, size = '64x36'): Buffer =>
  clip(`-f lavfi -i testsrc2=s=${size}:r=10 -t ${seconds} -c:v libx264 -pix_fmt yuv420p`, 'mp4')

const put = (body: unknown, type: string, headers = {}) =>
  live.v2('PUT', `/channels/${id}/slate`, body, { 'content-type': type, ...headers })

const slate = async () => (await live.v2('GET', `/channels/${id}`)).json.data.slate

test('an image is stored as it is, and the channel says what it is', async () => {
  const image = png()
  const answer = await put(image, 'image/png; charset=binary')
  const facts = {
    id: expect.stringMatching(/^sl_\w{22}$/),
    mediaType: 'image/png',
    size: image.length,
    width: 320,
    height: 180,
    createdAt: expect.any(String),
  }
  expect([answer.status, answer.json]).toEqual([200, { data: facts }])
  expect(await slate()).toEqual(answer.json.data)
  const [listed] = (await live.v2('GET', '/channels')).json.data
  expect(listed.slate).toEqual(answer.json.data)
  const headers = { authorization: live.authorization }
  const read = await fetch(`${live.running.base}/v2/channels/${id}/slate`, { headers })
  expect(Buffer.from(await read.arrayBuffer()).equals(image)).toBe(true)
  const etag = read.headers.get('etag') ?? ''
  expect([read.headers.get('content-type'), read.headers.get('x-content-type-options')]).toEqual([
    'image/png',
    'nosniff',
  ])
  expect((await live.v2('GET', `/channels/${id}/slate`, undefined, { 'if-none-match': etag })).status).toBe(304)
})

test('a JPEG and a clip are accepted, the later one replaces the earlier, and a deletion leaves none', async () => {
  const jpeg = await put(clip(IMAGE, 'jpg'), 'image/jpeg')
  expect(jpeg.json.data).toMatchObject({ mediaType: 'image/jpeg', width: 320, height: 180 })
  const mp4 = await put(film(1.5), 'video/mp4')
  expect(mp4.json.data).toMatchObject({ mediaType: 'video/mp4', width: 64, height: 36, duration: 1.5 })
  expect(await slate()).toEqual(mp4.json.data)
  expect((await live.v2('DELETE', `/channels/${id}/slate`)).status).toBe(204)
  expect(await slate()).toBeUndefined()
  for (const method of ['GET', 'DELETE'])
    expect((await live.v2(method, `/channels/${id}/slate`)).json).toMatchObject({ code: 'not_found' })
})

test('an edit of the channel keeps its slate, and a deleted channel takes it along', async () => {
  const { json } = await put(png(), 'image/png')
  await live.v2('PATCH', `/channels/${id}`, { name: 'Other' })
  expect((await slate()).id).toBe(json.data.id)
  const { read } = live.running.app.ctx.store
  expect(await read.slates.media(json.data.id)).toBeInstanceOf(Uint8Array)
  expect((await live.v2('DELETE', `/channels/${id}`)).status).toBe(204)
  expect(await read.slates.media(json.data.id)).toBeUndefined()
})

test('a change is audited with facts and without the file, and webhooks get channel.updated', async () => {
  const { json } = await put(png(), 'image/png')
  await live.v2('DELETE', `/channels/${id}/slate`)
  const { ctx } = live.running.app
  const rows = (await ctx.store.read.audit.recent(live.running.accountId, 10)).filter(({ subject }) => subject === id)
  const slates = rows.map(({ action, before, after }) => [
    action,
    JSON.parse(before ?? '{}').slate,
    JSON.parse(after ?? '{}').slate,
  ])
  const facts = expect.objectContaining({ id: json.data.id, bytes: json.data.size })
  expect(slates.slice(0, 2)).toEqual([
    ['channel.updated', facts, null],
    ['channel.updated', null, facts],
  ])
  const events = (await live.v2('GET', '/logs?type=channel.updated')).json.data
  const ids = events.map(({ requestData }: { requestData: { object: { id: string } } }) => requestData.object.id)
  expect(ids.filter((one: string) => one === id)).toHaveLength(2)
})

test('only who may change the channel changes its slate', async () => {
  await put(png(), 'image/png')
  const [stranger, reader] = [await strangerOf(live), await credential(live.running, 'read')]
  expect((await put(png(), 'image/png', { authorization: stranger })).status).toBe(404)
  expect((await put(png(), 'image/png', { authorization: reader })).json.code).toBe('insufficient_scope')
  expect((await live.v2('GET', `/channels/${id}/slate`, undefined, { authorization: stranger })).status).toBe(404)
  expect((await live.v2('GET', `/channels/${id}/slate`, undefined, { authorization: reader })).status).toBe(200)
  expect((await live.v2('DELETE', `/channels/${id}/slate`, undefined, { authorization: reader })).status).toBe(403)
})

/** A PNG of few bytes that claims and decodes to many pixels. */
function bomb(side: number): Buffer {
  const chunk = (type: string, data: Buffer): Buffer => {
    const head = Buffer.alloc(4)
    head.writeUInt32BE(data.length)
    const body = Buffer.concat([Buffer.from(type), data])
    const sum = Buffer.alloc(4)
    sum.writeUInt32BE(crc32(body))
    return Buffer.concat([head, body, sum])
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(side, 0)
  header.writeUInt32BE(side, 4)
  header.writeUInt8(1, 8)
  const pixels = deflateSync(Buffer.alloc((side / 8 + 1) * side))
  const signature = Buffer.from('89504e470d0a1a0a', 'hex')
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))])
}

const FTYP = Buffer.from('0000001c667479706d703432000000006d70343269736f6d', 'hex')
const PNG_START = Buffer.from('89504e470d0a1a0a', 'hex')
const SCRIPT = 'ffconcat version 1.0\nfile /etc/passwd\n'
const PLAYLIST = '#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nhttp://127.0.0.1:9/secret.ts\n'

test.each<[what: string, type: string, body: () => Buffer, status: number, message: RegExp]>([
  ['an image of 30,000 pixels on each side', 'image/png', () => bomb(30_000), 400, /at most 4096 pixels/],
  [
    'an image that is a little too wide',
    'image/png',
    () => clip('-f lavfi -i color=s=4100x32 -frames:v 1', 'png'),
    400,
    /4096/,
  ],
  ['an image of 8 pixels', 'image/png', () => clip('-f lavfi -i color=s=8x8 -frames:v 1', 'png'), 400, /at least 16/],
  ['an image that is cut off', 'image/jpeg', () => clip(IMAGE, 'jpg').subarray(0, 3000), 400, /cannot decode/],
  ['a clip that is cut off', 'video/mp4', () => film(1).subarray(0, 2000), 400, /cannot decode/],
  ['a clip that is too long', 'video/mp4', () => film(21), 400, /at most 20 seconds/],
  ['a clip that is too large', 'video/mp4', () => film(0.2, '2000x64'), 400, /at most 1920 pixels/],
  ['a GIF', 'image/png', () => clip(IMAGE, 'gif'), 415, /none of these/],
  ['a JPEG that is said to be a PNG', 'image/png', () => clip(IMAGE, 'jpg'), 415, /image\/jpeg, and/],
  ['a playlist', 'video/mp4', () => Buffer.from(PLAYLIST), 415, /none of these/],
  [
    'a playlist behind the beginning of a clip',
    'video/mp4',
    () => Buffer.concat([FTYP, Buffer.from(PLAYLIST)]),
    400,
    /cannot/,
  ],
  [
    'a script behind the beginning of an image',
    'image/png',
    () => Buffer.concat([PNG_START, Buffer.from(SCRIPT)]),
    400,
    /cannot/,
  ],
  ['no image', 'image/png', () => Buffer.alloc(0), 415, /./],
  ['an SVG', 'image/svg+xml', () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 415, /image\/jpeg/],
  ['JSON', 'application/json', () => Buffer.from('{}'), 415, /image\/jpeg/],
  ['more bytes than are allowed', 'image/png', () => Buffer.alloc(8 * 1024 * 1024 + 1), 413, /too large/],
])('%s is refused, and the slate stays', async (_what, type, body, status, message) => {
  const { json } = await put(png(), 'image/png')
  const answer = await put(body(), type)
  expect([answer.status, answer.json.message]).toEqual([status, expect.stringMatching(message)])
  expect((await slate()).id).toBe(json.data.id)
})

test('without ffmpeg a slate cannot be checked, and is refused', async () => {
  const bare = await runChannels({ flags: { ffmpeg: { path: 'no-such-program' } } })
  try {
    const channel = await bare.made('POST', '/channels', { name: 'Stage' })
    const answer = await bare.v2('PUT', `/channels/${channel.id}/slate`, png(), { 'content-type': 'image/png' })
    expect([answer.status, answer.json]).toEqual([
      503,
      { code: 'unavailable', message: expect.stringContaining('no-such-program') },
    ])
  } finally {
    await bare.close()
  }
})
