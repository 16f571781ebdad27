import { VERSION } from '../../src/base/version.ts'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import type { Answer } from '../support/app.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'
import { playbackFolder } from '../support/playbackFolder.ts'
import { StagedEngine } from '../support/stagedEngine.ts'

let live: ChannelsClient
beforeAll(async () => {
  live = await runChannels({ flags: { server: { trustedProxies: ['127.0.0.1'] } } })
})
afterAll(() => live.close())

interface Stage {
  id: string
  /** Where a new viewer finds playlist and pieces: a path with a ticket of its own. */
  watch(): Promise<string>
  segment: string
}

/** A distribution whose engine plays: the test makes its frames. */
async function newStage({ isOpen = false } = {}): Promise<Stage> {
  const made = await live.made('POST', '/channels', {
    name: 'stage',
    ingests: [{ name: 'i', type: 'rtmp-push', engines: [{ name: 'main' }] }],
    distributions: [{ name: 'web', security: { keys: isOpen ? [] : [{ key: 'a shared secret of this test' }] } }],
  })
  const [[{ id: engineId }], [{ id }]] = [made.engines, made.distributions]
  const engine = new StagedEngine(live.running.app.channelStreams, engineId).begin().play(3)
  const keys = `/distributions/${id}/security/keys`
  const [key] = await live.made('GET', keys)
  const query = isOpen
    ? ''
    : `?token=${(await live.made('POST', `${keys}/${key.id}/sign`, { expiresInSeconds: 60 })).token}`
  return {
    id,
    watch: () => playbackFolder(live.running.base, id, engineId, '0', query),
    segment: `s${engine.stream.facts('0')?.segments[0]?.n}.m4s`,
  }
}

const get = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
  live.running.call('GET', path, undefined, { authorization: '', ...headers })

/** The status and the text of a refusal. */
async function refusalOf(path: string): Promise<[number, string]> {
  const { status, text } = await get(path)
  return [status, text]
}

const SHARED = [403, expect.stringContaining('More than one player')]

it('each viewer gets a ticket of its own, which dies with the token, and playlists that are the same for all', async () => {
  const stage = await newStage()
  const [one, two] = [await stage.watch(), await stage.watch()]
  expect(one).not.toBe(two)
  const playlist = (await get(`${one}/media.m3u8`)).text
  expect((await get(`${two}/media.m3u8`)).text).toBe(playlist)
  expect(playlist).not.toContain('~')
  onTestFinished(() => void vi.restoreAllMocks())
  vi.spyOn(live.running.app.ctx.clock, 'now').mockImplementation(() => Date.now() + 61_000)
  for (const file of ['media.m3u8', stage.segment])
    expect(await refusalOf(`${one}/${file}`)).toEqual([403, 'The token has expired'])
})

it('a ticket that several players use is refused, and no other; an open distribution refuses none', async () => {
  const stage = await newStage()
  const [shared, own] = [await stage.watch(), await stage.watch()]
  const players = await Promise.all(Array.from({ length: 10 }, () => get(`${shared}/${stage.segment}`)))
  expect(players.filter(({ status }) => status === 200)).toHaveLength(3)
  expect(players.filter(({ status }) => status === 403)).toHaveLength(7)
  expect(await refusalOf(`${shared}/media.m3u8`)).toEqual(SHARED)
  expect((await get(`${own}/${stage.segment}`)).status).toBe(200)
  const open = await newStage({ isOpen: true })
  const anyone = await open.watch()
  for (let times = 0; times < 10; times++) expect((await get(`${anyone}/${open.segment}`)).status).toBe(200)
})

it('a cache that checks a ticket gets the answer of the rules at that moment', async () => {
  const stage = await newStage()
  const check = (await stage.watch()).replace(/[^/]+$/, 'check')
  const asked = async (address: string) => (await get(check, { 'x-forwarded-for': address })).status
  const ipBlocking = (change: object) =>
    live.made('PATCH', `/distributions/${stage.id}`, { security: { ipBlocking: change } })
  expect([await asked('198.51.100.1'), await asked('198.51.100.2')]).toEqual([204, 204])
  await ipBlocking({ enabled: true, mode: 'deny', cidrs: ['198.51.100.2/32'] })
  expect([await asked('198.51.100.1'), await asked('198.51.100.2')]).toEqual([204, 403])
  await ipBlocking({ enabled: false })
  expect(await asked('198.51.100.3')).toBe(403)
  expect(await refusalOf(check)).toEqual(SHARED)
})

it('a node that has too much to do gives out no new tickets, and those who have one go on', async () => {
  const stage = await newStage({ isOpen: true })
  const before = await stage.watch()
  const { ctx } = live.running.app
  onTestFinished(() => void vi.restoreAllMocks())
  vi.spyOn(ctx.nodeLoad, 'refusalOf').mockReturnValue({ check: 'node', outcome: 'fail', detail: 'busy' })
  const refused = ctx.sessions.counts.refused
  const counted = refused.get('node_full')
  const answer = await get(`/v2/distributions/${stage.id}/hls/main.m3u8`)
  expect([answer.status, answer.headers.get('retry-after'), answer.json]).toEqual([
    503,
    '10',
    { code: 'node_full', message: 'The server is busy and takes no more: try again later' },
  ])
  expect(refused.get('node_full')).toBe(counted + 1)

  const url = 'https://free.example.com'
  const free = {
    url,
    isServing: true,
    region: '',
    ageMs: 0,
    version: VERSION,
    full: [],
    mediaPercent: 0,
    cpuPercent: 0,
  }
  vi.spyOn(ctx.otherNodes, 'list').mockResolvedValue([free])
  const ask = async (query: string, headers = {}) => {
    const address = `${live.running.base}/v2/distributions/${stage.id}/hls/main.m3u8${query}`
    const { status, headers: sent } = await fetch(address, { redirect: 'manual', headers })
    return [status, sent.get('location')]
  }
  const there = `${url}/v2/distributions/${stage.id}/hls/main.m3u8?a=b&handover=redirected`
  expect(await ask('?a=b')).toEqual([307, there])
  // One that was sent on, and one whose token the redirect would drop.
  expect(await ask('?handover=redirected')).toEqual([503, null])
  expect(await ask('', { authorization: 'Bearer token' })).toEqual([503, null])
  for (const file of ['media.m3u8', stage.segment]) expect((await get(`${before}/${file}`)).status).toBe(200)
})
