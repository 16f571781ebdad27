import { createServer } from 'node:net'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { timeOrderedId } from '../../src/base/ids.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { makeToken, until } from '../support/testNode.ts'
import { newPlace, type Place } from '../support/place.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'

let place: Place
/** Has the feed. */
let owner: RunningApp
const engine = new ScriptedEngine()
/** Gets the viewer's request. */
let other: RunningApp

beforeAll(async () => {
  place = await newPlace('PostgreSQL')
  owner = await node(await freePort(), engine)
  other = await node(await freePort())
})
afterAll(async () => {
  for (const one of [owner, other]) await one.close()
  await place.remove()
})

/** A node of one installation; with port 0 it has no public URL for redirects. */
async function node(port: number, media = new ScriptedEngine()): Promise<RunningApp> {
  const secrets = { sealingKey: Buffer.alloc(32, 7).toString('base64') }
  const server = { port, ...(port === 0 ? {} : { nodeUrl: `http://127.0.0.1:${port}` }) }
  return runApp({ engine: media, flags: { storage: { url: place.url }, secrets, server } })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

const SDP = { 'content-type': 'application/sdp' }
const post = (url: string, headers: Record<string, string> = {}) =>
  fetch(url, { method: 'POST', redirect: 'manual', headers: { ...SDP, ...headers }, body: 'v=0\r\n' })

/** A secured stream on the air at a node, known to all nodes. */
async function broadcast(at: RunningApp, media: ScriptedEngine, streamName: string): Promise<void> {
  const { token } = await makeToken(at, 'publish', { streams: [{ streamName }], subscribeRequiresAuth: true })
  const answer = await post(`${at.base}/api/whip/${streamName}`, { authorization: `Bearer ${token}` })
  expect(answer.status).toBe(201)
  const sessionId = media.asked.at(-1)?.sessionId ?? ''
  media.emit({ kind: 'connected', sessionId, address: '127.0.0.1' })
  const isKnown = ({ app, accountId }: RunningApp) => app.ctx.streamsOnAir(accountId, streamName) !== undefined
  await until(() => [owner, other].every(isKnown))
}

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

test('so is an HLS player', async () => {
  const { token } = await makeToken(owner, 'subscribe')
  const master = `/hls/${owner.accountId}/show/index.m3u8`
  const sent = await fetch(`${other.base}${master}?auth=${token}&sourceId=`, { redirect: 'manual' })
  expect(sent.status).toBe(307)
  expect(sent.headers.get('location')).toContain(`${owner.base}${master}?auth=${token}`)
  expect(sent.headers.get('cache-control')).toBe('no-store')
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
  const file = { state: 'completed', bytes: 1, durationMs: 1, tracks: [], problem: null } as const
  const id = timeOrderedId(app.ctx.clock.now(), app.ctx.random)
  await app.ctx.store.transaction((tx) => tx.recordings.insert({ id, ...facts, ...file, hostKey: 'tape:/recordings' }))
  const { status, json } = await other.call('GET', `/api/recordings/${id}/download`)
  expect([status, json.data.message]).toEqual([
    409,
    'The file of this recording is at another node, on tape: fetch it there',
  ])
})
