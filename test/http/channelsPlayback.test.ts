import { createHmac, generateKeyPairSync, sign as signWith } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { ActiveStatus } from '../../src/core/channels/types.ts'
import type { Answer } from '../support/app.ts'
import { playbackFolder } from '../support/playbackFolder.ts'
import { servedBy } from '../support/served.ts'
import { StagedEngine } from '../support/stagedEngine.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'

const SECRET = 'a shared secret that viewers never see'
let live: ChannelsClient
beforeAll(async () => {
  live = await runChannels({ flags: { server: { trustedProxies: ['127.0.0.1'] } } })
})
afterAll(() => live.close())

interface Stage {
  channelId: string
  /** By priority: the second one serves new viewers. */
  engineIds: [string, string]
  engines: readonly [StagedEngine, StagedEngine]
  id: string
}

/** A channel whose two engines play: the test makes their frames. */
async function newStage(distribution: object = {}): Promise<Stage> {
  const made = await live.made('POST', '/channels', {
    name: 'stage',
    ingests: [{ name: 'i', type: 'rtmp-push', engines: [{ name: 'spare', priority: 5 }, { name: 'main' }] }],
    distributions: [{ name: 'web', ...distribution }],
  })
  const [spare, main] = made.engines.map(({ id }: { id: string }) => id)
  const engines = [await staged(spare), await staged(main)] as const
  return { channelId: made.id, engineIds: [spare, main], engines, id: made.distributions[0].id }
}

async function staged(id: string): Promise<StagedEngine> {
  await setStatus(id, 'playing')
  const engine = new StagedEngine(live.running.app.channelStreams, id).begin().play(3)
  engine.stream.thumbnail = Buffer.from('jpeg')
  return engine
}

const setStatus = (id: string, status: ActiveStatus) =>
  live.running.app.ctx.store.transaction((tx) => tx.engines.setStatus(id, status, null))

/** The URL of the oldest segment of the preferred engine, for a new viewer. */
async function segmentOf(stage: Stage, query = ''): Promise<string> {
  const [, engine] = stage.engines
  const folder = await playbackFolder(live.running.base, stage.id, stage.engineIds[1], '0', query)
  return `${folder}/s${engine.stream.facts('0')?.segments[0]?.n}.m4s`
}

const play = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
  live.running.call('GET', path, undefined, { authorization: '', ...headers })
const masterOf = ({ id }: Stage): string => `/v2/distributions/${id}/hls/main.m3u8`
const linesOf = (playlist: string): string[] =>
  playlist.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
const beside = (path: string, uri: string): string => new URL(uri, `http://x${path}`).href.slice('http://x'.length)
const change = (stage: Stage, body: object) => live.made('PATCH', `/distributions/${stage.id}`, body)

const warningOf = ({ headers }: Answer): string | null => headers.get('x-service-warning')

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds

function jwt(streaming: object, over: object = {}, secret = SECRET, alg = 'HS256'): string {
  const text = `${encode({ alg })}.${encode({ exp: inSeconds(60), streaming, ...over })}`
  return `${text}.${createHmac(alg === 'HS512' ? 'sha512' : 'sha256', secret)
    .update(text)
    .digest('base64url')}`
}

/** The status and the text of a refusal of media. */
async function refusalOf(path: string, headers: Record<string, string> = {}): Promise<[number, string]> {
  const { status, text } = await play(path, headers)
  return [status, text]
}

const WRONG_ADDRESS = [403, 'This cannot be watched from your address']
const WRONG_COUNTRY = [403, 'This cannot be watched from your country']
const WRONG_PAGE = [403, 'This cannot be watched on this page']

/** The status and the reason of a refusal. */
async function codeOf(path: string, headers: Record<string, string> = {}): Promise<[number, string]> {
  const { status, json } = await play(path, headers)
  return [status, json?.code]
}

describe('a distribution', () => {
  it('plays: the preferred engine first, the other one second, and every URL in the playlists', async () => {
    const stage = await newStage()
    const [spare, main] = stage.engineIds
    const master = await play(masterOf(stage))
    expect(master.status).toBe(200)
    expect(master.headers.get('content-type')).toBe('application/vnd.apple.mpegurl')
    expect(master.headers.get('access-control-allow-origin')).toBe('*')
    const renditions = linesOf(master.text)
    const withoutTicket = (uri: string): string => uri.replace(/^.*~[^/]+/, '~')
    expect(renditions.map(withoutTicket)).toEqual([
      `~/${stage.id}/${main}-0/media.m3u8`,
      `~/${stage.id}/${main}-1/media.m3u8`,
      `~/${stage.id}/${spare}-0/media.m3u8`,
      `~/${stage.id}/${spare}-1/media.m3u8`,
    ])
    const path = beside(masterOf(stage), renditions[0] ?? '')
    const media = await play(path)
    expect(media.text).toContain('#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,HOLD-BACK=10.000,PART-HOLD-BACK=1.050\n')
    expect(media.text).toMatch(/#EXT-X-MAP:URI="init-[0-9a-f]{8}\.mp4"/)
    const segment = linesOf(media.text)[0] ?? ''
    expect((await play(beside(path, segment))).text.length).toBeGreaterThan(50 * 100)
    const part = await play(beside(path, segment), { range: 'bytes=10-19' })
    expect([part.status, part.text.length]).toEqual([206, 10])
    expect((await play(beside(path, 's8.m4s'))).status).toBe(404)
    expect((await play(`/v2/distributions/${stage.id}/thumbnails/thumbnail.jpeg`)).text).toBe('jpeg')
    await setStatus(main, 'waiting')
    stage.engines[1].end()
    const shown = async () => linesOf((await play(masterOf(stage))).text).map(withoutTicket)
    await expect.poll(shown, { timeout: 30_000 }).toEqual(renditions.slice(2).map(withoutTicket))
    await setStatus(spare, 'stopped')
    live.running.app.channelStreams.close(spare)
    live.running.app.channelStreams.close(main)
    await expect.poll(() => codeOf(masterOf(stage)), { timeout: 30_000 }).toEqual([404, 'not_found'])
  })

  it('serves nothing but the files of its own engines', async () => {
    const [stage, other] = [await newStage(), await newStage()]
    const [own] = stage.engineIds
    const folder = await playbackFolder(live.running.base, stage.id, own)
    const root = folder.replace(/\/[^/]+$/, '')
    const name = (await segmentOf(stage)).split('/').at(-1)
    for (const path of [
      `${root}/${other.engineIds[0]}-0/${name}`,
      `${root}/${other.engineIds[0]}-0/media.m3u8`,
      `${root}/${own}-2/${name}`,
      `${root}/${own}-2/media.m3u8`,
      `${root}/${own}/${name}`,
      `${root}/..%2f${own}-0/${name}`,
      `${folder}/..%2f..%2f..%2f..%2fsealing.key`,
      `${folder}/thumbnail.jpeg`,
    ]) {
      expect([path, (await play(path)).status]).toEqual([path, 404])
    }
    expect(await codeOf(`/v2/distributions/di_${'1'.repeat(22)}/hls/main.m3u8`)).toEqual([404, 'not_found'])
  })

  it('tells players to wait for an engine between two servers, and not for one that a user has stopped', async () => {
    const stage = await newStage()
    const [, main] = stage.engineIds
    const playlist = `${(await segmentOf(stage)).replace(/[^/]+$/, '')}media.m3u8`
    live.running.app.channelStreams.close(main)
    const answersWhile = async (status: ActiveStatus): Promise<number> => {
      await setStatus(main, status)
      // A change through the API, so that the answer is not that of a second ago.
      await change(stage, { name: status })
      return (await play(playlist)).status
    }
    for (const status of ['playing', 'starting', 'waiting'] as const) expect(await answersWhile(status)).toBe(503)
    for (const status of ['stopping', 'stopped', 'error'] as const) expect(await answersWhile(status)).toBe(404)
  })

  it('applies changed rules to current viewers, segments included', async () => {
    const stage = await newStage()
    const segment = await segmentOf(stage)
    const from = (address: string, more: object = {}) => ({ 'x-forwarded-for': address, ...more })
    expect((await play(segment)).status).toBe(200)

    await change(stage, { enabled: false })
    expect(await refusalOf(segment)).toEqual([404, 'There is nothing to play here'])
    await change(stage, { enabled: true, maxBitrate: 1_000_000 })
    expect(linesOf((await play(masterOf(stage))).text).map((uri) => uri.at(-'1/media.m3u8'.length))).toEqual(['1', '1'])
    await change(stage, { maxBitrate: 1000 })
    expect((await play(masterOf(stage))).json.message).toContain('maxBitrate')

    const ipBlocking = { enabled: true, mode: 'allow', cidrs: ['198.51.100.0/24', '2001:db8::/32'] }
    await change(stage, { security: { ipBlocking } })
    expect(await refusalOf(segment, from('203.0.113.1'))).toEqual(WRONG_ADDRESS)
    expect((await play(segment, from('198.51.100.9'))).status).toBe(200)
    expect((await play(segment, from('2001:db8:1::1'))).status).toBe(200)
    await change(stage, { security: { ipBlocking: { mode: 'deny' } } })
    expect((await play(segment, from('203.0.113.1'))).status).toBe(200)
    expect(await refusalOf(segment, from('2001:db8:1::1'))).toEqual(WRONG_ADDRESS)

    const geoBlocking = { enabled: true, mode: 'allow', countries: ['NZ'] }
    await change(stage, { security: { ipBlocking: { enabled: false }, geoBlocking } })
    expect(await refusalOf(segment)).toEqual(WRONG_COUNTRY)
    await change(stage, { security: { geoBlocking: { mode: 'deny' } } })
    expect((await play(segment)).status).toBe(200)

    const refererBlocking = { enabled: true, allowedDomains: ['www.example.com'] }
    await change(stage, { security: { refererBlocking } })
    expect(await refusalOf(segment)).toEqual(WRONG_PAGE)
    expect((await play(segment, { referer: 'https://www.example.com/' })).status).toBe(200)
    expect(await refusalOf(segment, { referer: 'https://www.example.com.evil.example/' })).toEqual(WRONG_PAGE)
    await change(stage, { security: { refererBlocking: { allowNativeApps: true } } })
    expect((await play(segment)).status).toBe(200)
  })
})

describe('viewer tokens', () => {
  const secured = (keys: object[] = [{ key: SECRET }]) => newStage({ security: { keys } })

  it('are required once there is a key, and open playlists and segments through tickets that die with the key', async () => {
    const stage = await secured()
    const path = masterOf(stage)
    expect(await codeOf(path)).toEqual([403, 'token_required'])
    const token = jwt({ tid: 'crew', ch: [stage.channelId] })
    expect((await play(path, { authorization: `Bearer ${token}` })).status).toBe(200)
    const master = await play(`${path}?token=${token}`)
    const playlist = beside(path, linesOf(master.text)[0] ?? '')
    expect(playlist).toMatch(/^\/hls\/~g\.[\w.-]+\/di_/)
    expect(playlist).not.toContain(token)
    const media = await play(playlist)
    const segment = beside(playlist, linesOf(media.text)[0] ?? '')
    expect((await play(segment)).status).toBe(200)
    const [, ticket = ''] = /~([^/]+)/.exec(playlist) ?? []
    const forged = `${ticket.slice(0, -2)}${ticket.endsWith('AA') ? 'BA' : 'AA'}`
    const NO_TICKET = [401, expect.stringContaining('token')]
    expect(await refusalOf(segment.replace(ticket, forged))).toEqual(NO_TICKET)
    const other = await secured()
    const another = await segmentOf(other, `?token=${jwt({})}`)
    expect((await play(another)).status).toBe(200)
    expect(await refusalOf(another.replace(/~[^/]+/, `~${ticket}`))).toEqual(NO_TICKET)
    const [key] = await live.made('GET', `/distributions/${stage.id}/security/keys`)
    await live.made('POST', `/distributions/${stage.id}/security/keys`, { key: 'another shared secret' })
    await live.made('DELETE', `/distributions/${stage.id}/security/keys/${key.id}`)
    expect(await refusalOf(segment)).toEqual([403, 'The token is not valid: its key was deleted'])
    expect(await codeOf(`${path}?token=${token}`)).toEqual([403, 'invalid_token'])
  })

  it('apply all of their restrictions to playlists and segments too, even for copied URLs', async () => {
    const stage = await secured()
    const path = masterOf(stage)
    const iphone = { 'user-agent': 'Mozilla/5.0 (iPhone)' }
    const from = (address: string) => ({ 'x-forwarded-for': address })
    vi.spyOn(live.running.app.ctx, 'countryOf').mockImplementation(({ text }) => (text === '203.0.113.1' ? 'NZ' : 'DE'))
    onTestFinished(() => void vi.restoreAllMocks())
    const names = Array.from({ length: 60 }, (_, n) => String.fromCharCode(65 + (n % 26), 65 + (n % 25)))
    const abroad = 'The token is not for your country'
    for (const [grant, refused, text] of [
      [{ hw: ['desktop', 'tv'] }, iphone, 'The token is not for this kind of device'],
      [{ geo: { cc: ['DE'] } }, from('203.0.113.1'), abroad],
      [{ geo: { cc: [...names, 'de', 'not a country'] }, tid: 'ü'.repeat(128) }, from('203.0.113.1'), abroad],
    ] as const) {
      const master = await play(`${path}?token=${jwt(grant)}`)
      const playlist = beside(path, linesOf(master.text)[0] ?? '')
      const media = await play(playlist)
      const segment = beside(playlist, linesOf(media.text)[0] ?? '')
      const init = beside(playlist, /init-\w+\.mp4/.exec(media.text)?.[0] ?? '')
      for (const address of [playlist, segment, init]) {
        expect((await play(address)).status).toBe(200)
        expect(await refusalOf(address, refused)).toEqual([403, text])
        expect((await play(address)).status).toBe(200)
      }
    }
  })

  it('open nothing after the last key is deleted by itself, until the distribution is opened on purpose', async () => {
    const stage = await secured()
    const path = masterOf(stage)
    const keys = `/distributions/${stage.id}/security/keys`
    const token = jwt({})
    const segment = await segmentOf(stage, `?token=${token}`)
    expect((await play(segment)).status).toBe(200)
    const isRequired = async () => (await live.made('GET', `/distributions/${stage.id}`)).security.tokenRequired
    const [{ id }] = await live.made('GET', keys)
    const last = await live.v2('DELETE', `${keys}/${id}`)
    expect([last.status, warningOf(last)]).toEqual([204, expect.stringMatching(/^This was the last key: no viewer is/)])
    // Another edit does not open it either.
    await change(stage, { name: 'edited', security: { rewriteSegmentUrls: true } })
    expect([await codeOf(path), await refusalOf(segment), await isRequired()]).toEqual([
      [403, 'token_required'],
      [403, 'The token is not valid: its key was deleted'],
      true,
    ])
    expect(await codeOf(`${path}?token=${token}`)).toEqual([403, 'invalid_token'])

    const added = await live.made('POST', keys, { key: SECRET })
    expect((await play(`${path}?token=${token}`)).status).toBe(200)
    expect(warningOf(await live.v2('DELETE', `${keys}/${added.id}`))).toContain('last key')
    const opened = await live.v2('DELETE', keys)
    expect([opened.status, warningOf(opened)]).toEqual([204, expect.stringMatching(/every client can watch/)])
    expect([(await play(path)).status, (await play(segment)).status, await isRequired()]).toEqual([200, 200, false])
  })

  it('are valid in all parts, or are refused with the reason', async () => {
    const stage = await secured()
    const path = masterOf(stage)
    const asked = (token: string, headers?: Record<string, string>) => codeOf(`${path}?token=${token}`, headers)
    expect(await asked(jwt({}, { exp: inSeconds(-1) }))).toEqual([403, 'token_expired'])
    expect(await asked(jwt({}, { exp: undefined }))).toEqual([403, 'invalid_token'])
    expect(await asked(jwt({}, { nbf: inSeconds(3600) }))).toEqual([403, 'invalid_token'])
    expect(await asked(jwt({}, {}, 'some other secret'))).toEqual([403, 'invalid_token'])
    expect(await asked(`${encode({ alg: 'none' })}.${encode({ exp: inSeconds(60) })}.`)).toEqual([403, 'invalid_token'])
    expect(await asked('garbage')).toEqual([403, 'invalid_token'])
    expect(await asked(jwt({ ch: ['ch_other'] }))).toEqual([403, 'channel_not_allowed'])
    expect(await asked(jwt({ geo: { cc: ['NZ'] } }))).toEqual([403, 'country_not_allowed'])
    expect(await asked(jwt({ geo: { rgn: ['CA'] } }))).toEqual([403, 'country_not_allowed'])
    expect(await asked(jwt({ surprise: true }))).toEqual([403, 'invalid_token'])
    const under = (name: string, more = {}) => jwt({}, { streaming: undefined, [name]: { ch: ['ch_other'] }, ...more })
    expect(await asked(under('optiview'))).toEqual([403, 'channel_not_allowed'])
    expect(await asked(under('optiview', { streaming: {} }))).toEqual([403, 'invalid_token'])
    expect(await asked(under('Streaming'))).toEqual([403, 'invalid_token'])
    const { json } = await play(`${path}?token=${under('Streaming')}`)
    expect(json.message).toBe(
      'The token is not valid: Streaming is not read; restrictions stand under streaming or optiview',
    )
    expect(await asked(jwt({ hw: ['tv'] }), { 'user-agent': 'Mozilla/5.0 (iPhone)' })).toEqual([
      403,
      'device_not_allowed',
    ])
    expect(
      (await play(`${path}?token=${jwt({ hw: ['mobile'] })}`, { 'user-agent': 'Mozilla/5.0 (iPhone)' })).status,
    ).toBe(200)
    expect((await play(`${path}?token=${jwt({}, {}, SECRET, 'HS512')}`)).status).toBe(200)
  })

  it('are signed with a secret or with an RSA key pair, and never with the public key used as a secret', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const pem = publicKey.export({ type: 'spki', format: 'pem' }) as string
    const path = masterOf(await secured([{ key: SECRET }, { key: pem }]))
    for (const [alg, digest] of [
      ['RS256', 'RSA-SHA256'],
      ['RS512', 'RSA-SHA512'],
    ] as const) {
      const text = `${encode({ alg })}.${encode({ exp: inSeconds(60) })}`
      const token = `${text}.${signWith(digest, Buffer.from(text), privateKey).toString('base64url')}`
      expect((await play(`${path}?token=${token}`)).status).toBe(200)
    }
    expect((await play(`${path}?token=${jwt({})}`)).status).toBe(200)
    expect(await codeOf(`${path}?token=${jwt({}, {}, pem)}`)).toEqual([403, 'invalid_token'])
  })

  it('are ignored if no key is set', async () => {
    const stage = await newStage()
    expect((await play(`${masterOf(stage)}?token=stale`)).status).toBe(200)
  })

  it('attribute every byte and minute to their tracking id', async () => {
    const stage = await secured()
    const path = masterOf(stage)
    const bodies: number[] = []
    const get = async (at: string, headers?: Record<string, string>) => {
      const answer = await play(at, headers)
      bodies.push(Number(answer.headers.get('content-length')))
      return answer
    }
    const playlist = beside(path, linesOf((await get(`${path}?token=${jwt({ tid: 'crew' })}`)).text)[0] ?? '')
    const segment = beside(playlist, linesOf((await get(playlist)).text)[0] ?? '')
    await get(segment)
    await get(segment, { range: 'bytes=0-99' })
    await get(segment, { range: 'bytes=0-' })
    const served = () => servedBy(live.running.app.ctx.store, stage.id)
    const total = bodies.reduce((sum, bytes) => sum + bytes, 0)
    await expect
      .poll(async () => (await served()).reduce((sum, row) => sum + row.bytesOut, 0), {
        timeout: 30_000,
      })
      .toBe(total)
    for (const row of await served()) expect(row).toMatchObject({ trackingId: 'crew', country: '' })
    const today = new Date().toISOString().slice(0, 10)
    const time = `start=${today}&end=${new Date(Date.parse(today) + 2 * 86_400_000).toISOString()}`
    const at = `/distributions/${stage.id}/analytics/bytes-transferred`
    const [day] = await live.made('GET', `${at}?resolution=day&${time}`)
    expect(day).toEqual({ timestamp: `${today}T00:00:00.000Z`, records: [{ id: stage.id, amount: total }] })
    expect(await live.made('GET', `${at}/countries?${time}`)).toEqual([{ countryCode: 'ZZ', amount: total }])
    expect(await live.made('GET', `${at}/tracking-ids?${time}`)).toEqual([{ trackingId: 'crew', amount: total }])
    // Two segments of two seconds: part of a segment does not count.
    const minutes = `/channels/${stage.channelId}/analytics/viewing-minutes`
    const [counted] = await live.made('GET', `${minutes}?resolution=day&${time}`)
    expect(counted.records).toEqual([{ id: stage.channelId, amount: 0.07 }])
    expect(await live.made('GET', `${minutes}/tracking-ids?${time}`)).toEqual([{ trackingId: 'crew', amount: 0.07 }])
  })
})
