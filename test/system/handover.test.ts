import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { timeOrderedId } from '../../src/base/ids.ts'
import { captureThumbnail } from '../../src/commands/recordings/thumbnails.ts'
import { signSubscribeToken } from '../../src/sign.ts'
import { encoded, type Recorded } from '../media/ffmpeg/frames.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { broadcast as play } from '../support/broadcast.ts'
import { makeToken } from '../support/testNode.ts'
import { eventually, until } from '../support/until.ts'
import { newPlace, type Place } from '../support/place.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'
import { ownPort } from '../support/ownPort.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'

let place: Place
/** Has the feed. */
let owner: RunningApp
const engine = new ScriptedEngine()
/** Gets the viewer's request. */
let other: RunningApp

beforeAll(async () => {
  place = await newPlace('PostgreSQL')
  owner = await node(await ownPort(), engine)
  other = await node(await ownPort())
})
afterAll(async () => {
  for (const one of [owner, other]) await one.close()
  await place.remove()
})

/** A node of one installation; with port 0 it has no public URL for redirects. */
async function node(port: number, media = new ScriptedEngine()): Promise<RunningApp> {
  const secrets = { sealingKey: SEALING_KEY }
  const server = { port, ...(port === 0 ? {} : { nodeUrl: `http://127.0.0.1:${port}` }) }
  return runApp({ engine: media, flags: { storage: { url: place.url }, secrets, server } })
}

const SDP = { 'content-type': 'application/sdp' }
const post = (url: string, headers: Record<string, string> = {}) =>
  fetch(url, { method: 'POST', redirect: 'manual', headers: { ...SDP, ...headers }, body: 'v=0\r\n' })

/** A stream on the air at a node, known to all nodes. */
async function broadcast(
  at: RunningApp,
  media: ScriptedEngine,
  streamName: string,
  subscribeRequiresAuth = true,
): Promise<void> {
  const { token } = await makeToken(at, 'publish', { streams: [{ streamName }], subscribeRequiresAuth })
  const answer = await post(`${at.base}/api/whip/${streamName}`, { authorization: `Bearer ${token}` })
  expect(answer.status).toBe(201)
  const sessionId = media.asked.at(-1)?.sessionId ?? ''
  media.emit({ kind: 'connected', sessionId, address: '127.0.0.1' })
  const isKnown = ({ app, accountId }: RunningApp) => app.ctx.streamsOnAir(accountId, streamName) !== undefined
  await until(() => [owner, other].every(isKnown))
}

test('a node shows the picture of an open stream of another one where links are shared, and none of a secured one', async () => {
  // 320 by 180 pixels.
  const jpeg = Buffer.from('ffd8ffc0000b0800b40140010111', 'hex')
  for (const [streamName, isSecured] of [
    ['shared', false],
    ['private', true],
  ] as const) {
    await broadcast(owner, engine, streamName, isSecured)
    const feed = owner.app.ctx.sessions.feeds.get(owner.accountId, streamName, null) ?? expect.fail()
    await captureThumbnail(owner.app.ctx, feed, jpeg)
    const link = `${other.base}/watch/${owner.accountId}/${streamName}`
    const oembed = async () =>
      (await (await fetch(`${other.base}/oembed?url=${encodeURIComponent(link)}`)).json()) as object
    const thumbnail = `${other.base}/hls/${owner.accountId}/${streamName}/thumbnail.jpeg`
    if (isSecured) expect(await oembed()).not.toHaveProperty('thumbnail_url')
    else {
      await eventually(async () =>
        expect(await oembed()).toMatchObject({ thumbnail_url: thumbnail, thumbnail_width: 320 }),
      )
      expect(Buffer.from(await (await fetch(thumbnail)).arrayBuffer())).toEqual(jpeg)
    }
  }
})

const whep = (at: RunningApp, streamName: string) => `${at.base}/api/whep/${owner.accountId}/${streamName}`

test('a viewer at another node is redirected to the one that has the feed, and stays there', async () => {
  await broadcast(owner, engine, 'show')
  const page = { origin: 'https://page.example' }
  const { token } = await makeToken(owner, 'subscribe', { allowedOrigins: ['page.example'] })
  const refused = await post(whep(other, 'show'), page)
  expect([refused.status, await refused.text()]).toEqual([401, 'Unauthorized: Invalid token'])

  const sent = await post(whep(other, 'show'), { ...page, authorization: `Bearer ${token}` })
  expect(sent.status).toBe(307)
  const location = sent.headers.get('location') ?? ''
  expect(location.startsWith(`${whep(owner, 'show')}?`)).toBe(true)
  // As a browser follows a redirect: without the header, and with a null origin.
  const arrived = await post(location, { origin: 'null' })
  expect(arrived.status, await arrived.text()).toBe(201)
  const resource = arrived.headers.get('location') ?? ''
  expect(resource.startsWith(`${owner.base}/api/whep/resource/`)).toBe(true)
  expect((await fetch(resource, { method: 'DELETE' })).status).toBe(200)

  const forged = location.replace(
    /(handover=[^.]*\.)[^.]*/,
    `$1${Buffer.from('https://x.example').toString('base64url')}`,
  )
  expect((await post(forged, { origin: 'null' })).status).toBe(401)
  expect((await post(location.replace('/show?', '/other?'), { origin: 'null' })).status).toBe(401)
  const another = await makeToken(owner, 'subscribe', { allowedOrigins: ['page.example'] })
  const stolen = await post(location.replace(token, another.token), { origin: 'null' })
  expect([stolen.status, await stolen.text()]).toEqual([401, 'Unauthorized: Origin not allowed'])
})

describe('over HLS any node serves', () => {
  /** The media playlist of a viewer who asked this node, and its pieces. */
  async function watch(at: RunningApp, query: string, streamName = 'live') {
    const { status, playlist } = await come(at, query, streamName)
    const { text } = await get(at, playlist)
    const pieces = text.match(/(?<=URI=")init-[^"]+|^s\d+\.m4s$/gm) ?? []
    return { status, playlist, text, pieces: pieces.map((name) => beside(playlist, name)) }
  }

  /** The address of the media playlist of a viewer, who has not asked for it. */
  async function come(at: RunningApp, query: string, streamName: string) {
    const masterUrl = `${at.base}/hls/${owner.accountId}/${streamName}/index.m3u8${query}`
    const master = await fetch(masterUrl, { redirect: 'manual' })
    const [uri = ''] = /^[^#\s]+$/m.exec(await master.text()) ?? []
    return { status: master.status, playlist: new URL(uri, masterUrl).pathname }
  }

  const beside = (path: string, name: string): string => path.replace('media.m3u8', name)

  async function get(at: RunningApp, path: string) {
    const response = await fetch(at.base + path)
    const bytes = Buffer.from(await response.arrayBuffer())
    return { status: response.status, bytes, text: bytes.toString() }
  }

  const viewersOf = ({ app }: RunningApp) => app.ctx.sessions.all().filter(({ session }) => session.action === 'view')

  /** Requests for playlists and pieces that a node has answered. */
  async function answered(at: RunningApp): Promise<number> {
    const { text } = await get(at, '/metrics')
    const counts = text.matchAll(/^sluice_http_requests_total\{.*route="\/hls\/~:ticket.*\} (\d+)$/gm)
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
  }

  let recorded: Recorded

  beforeAll(async () => {
    recorded = await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25, size: '320x180' })
    await play(owner, recorded, { streamName: 'live', token: { subscribeRequiresAuth: true } })
    await until(() => other.app.ctx.streamsOnAir(other.accountId, 'live') !== undefined)
  })

  test('the same bytes as the node of the feed, and counts them for its own session', async () => {
    const { token } = await makeToken(owner, 'subscribe')
    const [here, there] = [await watch(owner, `?auth=${token}`), await watch(other, `?auth=${token}`)]
    expect([here.status, there.status]).toEqual([200, 200])
    const [init, segment] = [there.pieces[0]!, there.pieces.at(-1)!]
    for (const path of [init, segment]) {
      const [one, same] = [
        await get(other, path),
        await get(owner, here.playlist.replace(/\/[^/]+$/, path.slice(path.lastIndexOf('/')))),
      ]
      expect([one.status, one.bytes.length > 100, one.bytes.equals(same.bytes)]).toEqual([200, true, true])
    }
    await until(() =>
      viewersOf(other).some(({ session, bytes }) => there.playlist.includes(session.id) && bytes.bytesOut > 1000),
    )
  })

  test('every request of a player that a balancer sends to all nodes in turn', async () => {
    const parent = await makeToken(owner, 'subscribe')
    const signed = signSubscribeToken({
      token: parent.token,
      tokenId: parent.id,
      streamName: 'live',
      tracking: { trackingId: 'robin' },
    })
    for (const token of [parent.token, signed]) {
      const { playlist, pieces } = await watch(owner, `?auth=${token}`)
      const paths = [playlist, pieces[0]!, playlist, pieces.at(-1)!]
      const statuses = []
      for (const [index, path] of [...paths, ...paths].entries())
        statuses.push((await get([other, owner, other, other, owner][index % 5]!, path)).status)
      expect(statuses).toEqual(Array.from({ length: 8 }, () => 200))
    }
    expect(viewersOf(other).some(({ session }) => session.trackingId === 'robin')).toBe(true)
  })

  test('a player of another node waits for its publisher, which is between two nodes', async () => {
    const streamName = 'between'
    const publisher = await play(owner, recorded, { streamName })
    const { token } = await makeToken(owner, 'subscribe')
    const { playlist } = await watch(owner, `?auth=${token}`, streamName)
    await publisher.end()
    const isOver = ({ app, accountId }: RunningApp) => app.ctx.streamsOnAir(accountId, streamName) === undefined
    await until(() => [owner, other].every(isOver))
    const answer = get(other, playlist)
    await until(() => other.app.ctx.sessions.demand.waiters === 1)
    expect(await answer).toMatchObject({ status: 503, text: 'Stream not being published' })
  })

  test('what is left of a stream to a player that comes for its first playlist after the end', async () => {
    const streamName = 'over'
    const publisher = await play(owner, recorded, { streamName })
    await until(() => other.app.ctx.streamsOnAir(other.accountId, streamName) !== undefined)
    const { token } = await makeToken(owner, 'subscribe')
    const { playlist } = await come(other, `?auth=${token}`, streamName)
    await publisher.end()
    await until(() => other.app.ctx.streamsOnAir(other.accountId, streamName) === undefined)
    const left = await get(other, playlist)
    expect([left.status, left.text.includes('#EXT-X-ENDLIST')]).toEqual([200, true])
  })

  test('twenty viewers with one request to the node of the feed', async () => {
    const { token } = await makeToken(owner, 'subscribe')
    const crowd = await Promise.all(Array.from({ length: 20 }, () => watch(other, `?auth=${token}`)))
    // Those who came first may have waited for the others longer than a playlist keeps its pieces.
    const { text } = await get(other, crowd[0]!.playlist)
    const newest = text.match(/^s\d+\.m4s$/gm)?.at(-1) ?? ''
    const before = await answered(owner)
    expect(before).toBeGreaterThan(0)
    const answers = await Promise.all(crowd.map(({ playlist }) => get(other, beside(playlist, newest))))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect((await answered(owner)) - before).toBeLessThanOrEqual(1)
  })

  test('the thumbnail of the stream, asked for once in a moment, and its reason when there is none', async () => {
    const { token } = await makeToken(owner, 'subscribe')
    const path = `/hls/${owner.accountId}/live/thumbnail.jpeg`
    const asked = async () => {
      const { text } = await get(owner, '/metrics')
      const [, count = '0'] = /^sluice_http_requests_total\{.*thumbnail\.jpeg",status="200"\} (\d+)$/m.exec(text) ?? []
      return Number(count)
    }
    const missing = await get(other, `${path}?auth=${token}`)
    expect([missing.status, missing.text]).toEqual([404, expect.stringContaining('set enableThumbnails')])
    const feed = owner.app.ctx.sessions.feeds.get(owner.accountId, 'live', null)
    if (!feed) throw new Error('not on the air')
    const image = Buffer.from('ffd8ffe000104a464946', 'hex')
    await captureThumbnail(owner.app.ctx, feed, image)
    const found = await eventually(async () => {
      const answer = await fetch(`${other.base}${path}?auth=${token}`)
      expect([answer.status, Buffer.from(await answer.arrayBuffer())]).toEqual([200, image])
      return answer
    })
    expect(found.headers.get('cache-control')).toBe('private, max-age=2')
    const headers = { 'if-none-match': found.headers.get('etag') ?? '' }
    const before = await asked()
    const again = await Promise.all(
      Array.from({ length: 20 }, () => fetch(`${other.base}${path}?auth=${token}`, { headers })),
    )
    expect(new Set(again.map(({ status }) => status))).toEqual(new Set([304]))
    expect((await asked()) - before).toBeLessThanOrEqual(1)
    const forged = `?node=node.${Date.now() + 60_000}.${'A'.repeat(22)}`
    for (const query of ['', forged, '?auth=wrong']) expect((await get(owner, path + query)).status).toBe(401)
    expect((await get(other, path)).status).toBe(401)
  })

  test('no viewer whose token was deleted, or whose session was ended, at any node', async () => {
    const [deleted, kept] = [await makeToken(owner, 'subscribe'), await makeToken(owner, 'subscribe')]
    const [gone, ended] = [await watch(owner, `?auth=${deleted.token}`), await watch(owner, `?auth=${kept.token}`)]
    const copied = await watch(other, `?auth=${deleted.token}`)
    const begun = new Set(viewersOf(other))
    const roaming = await watch(owner, `?auth=${kept.token}`)
    expect((await get(other, roaming.playlist)).status).toBe(200)
    const there = viewersOf(other).find((entry) => !begun.has(entry))
    await other.call('DELETE', `/api/sessions/${there?.session.id}`)
    await owner.call('DELETE', `/api/subscribe_token/${deleted.id}`)
    const session = viewersOf(owner).find(({ session: { id } }) => ended.playlist.includes(id))
    await owner.call('DELETE', `/api/sessions/${session?.session.id}`)
    for (const { playlist } of [gone, copied, ended, roaming])
      await until(
        async () => (await get(other, playlist)).status === 401 && (await get(owner, playlist)).status === 401,
      )
  })

  test('no address of another node but those of the stream, whatever the name of a rendition holds', async () => {
    const { token } = await makeToken(owner, 'subscribe')
    const { playlist } = await watch(other, `?auth=${token}`)
    const metrics = encodeURIComponent('../../../metrics?of=')
    const found = await get(other, playlist.replace(/[^/]+\/media\.m3u8$/, `${metrics}/media.m3u8`))
    expect([found.status, found.text.includes('sluice_http_requests_total')]).toEqual([404, false])
  })

  test('nothing to the forged ticket of a node', async () => {
    const { token } = await makeToken(owner, 'subscribe')
    const { playlist } = await watch(other, `?auth=${token}`)
    const forged = playlist.replace(/~[^/]+/, `~node.${Date.now() + 60_000}.${'A'.repeat(22)}`)
    expect((await get(owner, forged)).status).toBe(401)
  })
})

test('a redirected viewer is not redirected again, and no viewer to a node without a public URL', async () => {
  const { token } = await makeToken(owner, 'subscribe')
  const bearer = { authorization: `Bearer ${token}` }
  const location = (await post(whep(other, 'show'), bearer)).headers.get('location') ?? ''
  const back = await post(location.replace(owner.base, other.base))
  expect([back.status, await back.text()]).toEqual([409, 'Stream not being published'])

  const media = new ScriptedEngine()
  const away = await node(0, media)
  await broadcast(away, media, 'away')
  const refused = await post(whep(other, 'away'), bearer)
  expect([refused.status, await refused.text()]).toEqual([409, 'Stream is published at another node'])
  expect(refused.headers.get('retry-after')).toBe('2')
  await away.close()
})

test('a recording on the disk of another node is a 409 that names its machine', async () => {
  const { accountId, app } = other
  const facts = { accountId, streamName: 'show', tokenId: 1, feedId: 'f', startedAtMs: 1, endedAtMs: 2, node: 'n' }
  const file = { state: 'completed', bytes: 1, durationMs: 1, tracks: [], problem: null, expiresAtMs: null } as const
  const id = timeOrderedId(app.ctx.clock.now(), app.ctx.random)
  await app.ctx.store.transaction((tx) => tx.recordings.insert({ id, ...facts, ...file, hostKey: 'tape:/recordings' }))
  const { status, json } = await other.call('GET', `/api/recordings/${id}/download`)
  expect([status, json.data.message]).toEqual([
    409,
    'The file of this recording is at another node, on tape: fetch it there',
  ])
})
