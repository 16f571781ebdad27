import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { SPLICED_MIN_BYTES } from '../../src/base/segmentMemory.ts'
import { endChildren } from '../support/channels.ts'
import { pace, until } from '../support/until.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'
import { newPlace, type Place } from '../support/place.ts'
import { servedBy } from '../support/served.ts'
import { pushSource } from '../hls/sources.ts'
import { alike, RawConnection } from '../support/rawConnection.ts'
import { ownPort } from '../support/ownPort.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'

const SECRET = 'a shared secret of this test'
const VIDEO = [
  { width: 320, height: 180, bitrate: 400_000 },
  { width: 96, height: 54, bitrate: 80_000 },
]

let place: Place
/** Runs the engine. */
let owner: ChannelsClient
/** Gets the requests of viewers. */
let other: ChannelsClient
let channel: { engineId: string; distributionId: string; keyId: string }

beforeAll(async () => {
  place = await newPlace('PostgreSQL')
  owner = await node()
  const ladder = await owner.made('POST', '/abr', { name: 'tiny', video: VIDEO })
  const made = await owner.made('POST', '/channels', {
    name: 'stage',
    ingests: [{ name: 'Camera', type: 'rtmp-push', engines: [{ name: 'Main', quality: { abrLadderId: ladder.id } }] }],
    distributions: [{ name: 'Web', security: { keys: [{ key: SECRET }] } }],
  })
  const distributionId = made.distributions[0].id
  const [key] = await owner.made('GET', `/distributions/${distributionId}/security/keys`)
  channel = { engineId: made.engines[0].id, distributionId, keyId: key.id }
  await owner.made('POST', `/channels/${made.id}/start`)
  // The engine is at the first node before there is a second one.
  const statusOf = async () => (await owner.made('GET', `/engines/${channel.engineId}`)).status
  await until(async () => (await statusOf()) === 'waiting', 'an engine that waits')
  other = await node()
  pushSource('plain', `rtmp://127.0.0.1:${owner.running.rtmpPort}/live/${made.ingests[0].streamKey}`)
  await until(async () => (await statusOf()) === 'playing', 'an engine that plays')
})
afterAll(async () => {
  endChildren()
  for (const one of [other, owner]) await one.close()
  await place.remove()
})

async function node(): Promise<ChannelsClient> {
  const port = await ownPort()
  const secrets = { sealingKey: SEALING_KEY }
  const server = { port, nodeUrl: `http://127.0.0.1:${port}`, drainSeconds: 6 }
  return runChannels({ flags: { storage: { url: place.url }, secrets, server } })
}

const linesOf = (playlist: string): string[] =>
  playlist.split('\n').filter((line) => line !== '' && !line.startsWith('#'))

/** The addresses of the media playlists that a new viewer at this node gets. */
async function watch(at: ChannelsClient): Promise<string[]> {
  const keys = `/distributions/${channel.distributionId}/security/keys`
  const { token } = await owner.made('POST', `${keys}/${channel.keyId}/sign`, { trackingId: 'crew' })
  const url = `${at.running.base}/v2/distributions/${channel.distributionId}/hls/main.m3u8?token=${token}`
  const answer = await fetch(url)
  expect(answer.status).toBe(200)
  return linesOf(await answer.text()).map((uri) => new URL(uri, answer.url).href)
}

/** The same request at another node. */
const at = (node: ChannelsClient, url: string): string => url.replace(/^http:\/\/[^/]+/, node.running.base)

describe('a node that does not run the engine of a channel', () => {
  test('serves the same media as the one that does, in parts too, to tickets of both', async () => {
    const [playlist = '', ...others] = await watch(other)
    expect(others).toHaveLength(1)
    const text = await (await fetch(playlist)).text()
    const newest = /^s(\d+)\.m4s$/gm
    const [segment = ''] = linesOf(text)
    const bytes = async (url: string) => Buffer.from(await (await fetch(url)).arrayBuffer())
    const [here, there] = [new URL(segment, playlist).href, at(owner, new URL(segment, playlist).href)]
    expect((await bytes(here)).equals(await bytes(there))).toBe(true)
    const next = Math.max(...Array.from(text.matchAll(newest), ([, n]) => Number(n))) + 2
    const waited = await fetch(`${playlist}?_HLS_msn=${next}&_HLS_part=0`)
    expect([waited.status, (await waited.text()).includes(`s${next - 1}.m4s`)]).toEqual([200, true])
    const [own = ''] = await watch(owner)
    expect((await fetch(at(other, own))).status).toBe(200)
  })

  test('sends a piece that it has fetched as the framework would, without copying it', async () => {
    const [playlist = ''] = await watch(other)
    const text = await (await fetch(playlist)).text()
    const [segment = '', second = ''] = linesOf(text)
    const init = /"(init-[^"]+)/.exec(text)?.[1] ?? ''
    const answerOf = async (url: URL | string) => {
      const answer = await fetch(url)
      const { date: _, 'x-request-id': __, ...headers } = Object.fromEntries(answer.headers)
      return { status: answer.status, headers, bytes: Buffer.from(await answer.arrayBuffer()) }
    }
    for (const piece of [segment, init]) {
      const url = new URL(piece, playlist)
      // A request with an unknown query is left to the framework, which fetches the piece.
      const route = await answerOf(`${url.href}?via=route`)
      expect([piece, await answerOf(url)]).toEqual([piece, route])
      expect(route.status).toBe(200)
    }
    const { addon } = other.running.app.segmentMemory
    const answer = addon && vi.spyOn(addon, 'answer')
    onTestFinished(() => answer?.mockRestore())
    const connection = await RawConnection.to(playlist)
    const { pathname } = new URL(second, playlist)
    const route = await connection.ask(`${pathname}?via=route`)
    expect(alike(await connection.ask(pathname))).toEqual(alike(route))
    expect([route.status, route.body.length > SPLICED_MIN_BYTES]).toEqual([200, true])
    if (answer) expect(answer).toHaveBeenCalledTimes(1)
  })

  test('counts what it serves for the tracking id, with its playing time', async () => {
    const [playlist = ''] = await watch(other)
    const [segment = ''] = linesOf(await (await fetch(playlist)).text())
    const counted = async () => {
      const rows = await servedBy(owner.running.app.ctx.store, channel.distributionId)
      return rows.find(({ trackingId }) => trackingId === 'crew')?.viewedMs ?? 0
    }
    const before = await counted()
    expect((await fetch(new URL(segment, playlist))).status).toBe(200)
    await expect.poll(counted, { timeout: 30_000 }).toBeGreaterThanOrEqual(before + 1000)
  })

  test('has the thumbnail of the one that does, for those whom the rules admit', async () => {
    const path = `/v2/distributions/${channel.distributionId}/thumbnails/thumbnail.jpeg`
    const keys = `/distributions/${channel.distributionId}/security/keys`
    const { token } = await owner.made('POST', `${keys}/${channel.keyId}/sign`, { trackingId: 'crew' })
    const thumbnail = () => fetch(`${other.running.base}${path}?token=${token}`)
    await expect.poll(async () => (await thumbnail()).status, { timeout: 30_000 }).toBe(200)
    const answer = await thumbnail()
    expect(answer.headers.get('content-type')).toBe('image/jpeg')
    const bytes = Buffer.from(await answer.arrayBuffer())
    expect([bytes.readUInt16BE(0), bytes.readUInt16BE(bytes.length - 2)]).toEqual([0xffd8, 0xffd9])
    for (const query of ['', '?token=x', '?node=x'])
      for (const base of [owner.running.base, other.running.base])
        expect([query, (await fetch(base + path + query)).status]).toEqual([query, 403])
  })

  test('refuses what the rules refuse, and what is no rendition', async () => {
    const [playlist = ''] = await watch(other)
    const rename = (to: string): string => playlist.replace(/[^/]+(?=\/media\.m3u8)/, to)
    const strange = encodeURIComponent('../../../metrics?of=')
    for (const url of [rename(`${channel.engineId}-9`), rename('en_none-0'), rename(strange)])
      expect([url, (await fetch(url)).status]).toEqual([url, 404])
    const forged = playlist.replace(/(?<=~.{30})./, (one) => (one === 'A' ? 'B' : 'A'))
    expect((await fetch(forged)).status).toBe(401)
    await owner.made('PATCH', `/distributions/${channel.distributionId}`, { enabled: false })
    await expect.poll(async () => (await fetch(playlist)).status).toBe(404)
    await owner.made('PATCH', `/distributions/${channel.distributionId}`, { enabled: true })
    await expect.poll(async () => (await fetch(playlist)).status).toBe(200)
  })

  test('sends its players to another node while it drains, without an error', async () => {
    const [playlist = ''] = await watch(other)
    const seen: string[] = []
    const ask = async () => {
      const { status, url } = await fetch(playlist)
      seen.push(`${status} ${new URL(url).origin === owner.running.base ? 'there' : 'here'}`)
    }
    await ask()
    const { node } = other.running.app.ctx.sessions
    expect((await owner.running.call('POST', `/api/nodes/${node}/drain`)).status).toBe(200)
    await until(() => other.running.app.ctx.sessions.drain !== null)
    // Who comes only now begins there at once.
    const origins = (await watch(other)).map((url) => new URL(url).origin)
    expect(new Set(origins)).toEqual(new Set([owner.running.base]))
    while (seen.at(-1) !== '200 there') {
      await ask()
      // More often, and the ticket would seem to be in use by several players.
      await pace(500)
    }
    expect(new Set(seen)).toEqual(new Set(['200 here', '200 there']))
    await other.running.drained
  })
})
