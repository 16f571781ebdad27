import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { sourceOf } from '../../src/commands/channels/ingests.ts'
import type { PartialConfig } from '../../src/config/schema.ts'
import { type ChannelsClient, runChannels, strangerOf, WHOLE_CHANNEL } from '../support/channelsClient.ts'

let live: ChannelsClient
let stranger: string
beforeAll(async () => {
  live = await runChannels()
  stranger = await strangerOf(live)
})
afterAll(() => live.close())

const ID = /^(ch|in|en|di|ab|ke)_[1-9A-HJ-NP-Za-km-z]{22}$/

describe('a channel', () => {
  it('has the RTMP port and the configured public host in its URLs', async () => {
    const urlWith = async (flags: PartialConfig) => {
      const other = await runChannels({ flags: { ...flags, rtmp: { enabled: false, port: 2935 } } })
      try {
        return (await other.made('POST', '/channels', WHOLE_CHANNEL)).ingests[0].url
      } finally {
        await other.close()
      }
    }
    expect(await urlWith({})).toBe('rtmp://localhost:2935/live')
    expect(await urlWith({ channels: { rtmpUrl: 'rtmps://live.example.com/live' } })).toBe(
      'rtmps://live.example.com/live',
    )
  })

  it('is created with all its parts, which are connected, and can be read', async () => {
    const made = await live.made('POST', '/channels', { ...WHOLE_CHANNEL, externalIds: ['joined'] })
    expect(made).toMatchObject({ name: 'Stage', status: 'stopped', timeout: 3600, perpetual: false })
    expect(made).toMatchObject({
      externalIds: ['joined'],
      externalId: 'joined',
      organizationId: live.running.accountId,
    })
    const { ingests, engines, distributions, ...channel } = made
    for (const { id } of [channel, ...ingests, ...engines, ...distributions]) expect(id).toMatch(ID)
    expect(ingests[0]).toMatchObject({ type: 'rtmp-push', url: 'rtmp://localhost:1935/live' })
    expect(ingests[0].streamKey).toMatch(/^[0-9a-f]{32}$/)
    expect(ingests[1]).toMatchObject({ url: WHOLE_CHANNEL.ingests[1]?.url, channelId: made.id })
    expect(ingests[1].streamKey).toBeUndefined()
    expect(engines.map((engine: { ingestId: string }) => engine.ingestId)).toEqual([ingests[0].id, ingests[0].id])
    expect(engines[1]).toMatchObject({ priority: 5, status: 'stopped', quality: { abrLadderId: 'ab_default' } })
    expect(distributions[0].endpoints.engineIds).toEqual([engines[0].id, engines[1].id])

    expect(await live.made('GET', `/channels/${made.id}`)).toEqual(channel)
    expect(await live.made('GET', `/ingests/${ingests[0].id}`)).toEqual(ingests[0])
    expect(await live.made('GET', `/engines/${engines[1].id}`)).toEqual(engines[1])
    expect(await live.made('GET', `/distributions/${distributions[0].id}`)).toEqual(distributions[0])
    const included = (await live.v2('GET', `/channels/${made.id}?include=engines,distributions`)).json
    expect(Object.keys(included).sort()).toEqual(['data', 'distributions', 'engines'])
    expect(included.engines).toMatchObject({ hasMore: false, count: 2, link: `/v2/channels/${made.id}/engines` })
    expect(included.engines.data).toHaveLength(2)
  })

  it('writes nothing if one part is invalid, and reports every invalid part', async () => {
    const before = (await live.v2('GET', '/channels?limit=100')).json.data.length
    const answer = await live.v2('POST', '/channels', {
      name: '',
      colour: 'red',
      timeout: -1,
      ingests: [
        { name: 'a', type: 'rtmp-push', url: 'rtmp://x.example.com/a', engines: [{ nmae: 'typo', drm: true }] },
        { name: 'b', type: 'sdi-pull' },
        { name: 'c', type: 'rtmp-pull' },
      ],
      distributions: [
        { name: 'd', endpoints: { engineIds: [] }, security: { ipBlocking: { cidrs: ['10.0.0.0/40'] } } },
      ],
    })
    expect(answer.status).toBe(400)
    expect(answer.json.code).toBe('validation_failed')
    expect(answer.json.details.map(({ path }: { path: string }) => path).sort()).toEqual([
      'colour',
      'distributions[0].endpoints',
      'distributions[0].security.ipBlocking.cidrs[0]',
      'ingests[0].engines[0].drm',
      'ingests[0].engines[0].name',
      'ingests[0].engines[0].nmae',
      'ingests[0].url',
      'ingests[1].type',
      'ingests[2].url',
      'name',
      'timeout',
    ])
    const ladder = {
      name: 'x',
      ingests: [{ name: 'a', type: 'rtmp-push', engines: [{ name: 'e', quality: { abrLadderId: 'ab_none' } }] }],
    }
    expect((await live.v2('POST', '/channels', ladder)).json.details).toEqual([
      { path: 'ingests[0].engines[0].quality.abrLadderId', message: expect.stringContaining('ab_none') },
    ])
    expect((await live.v2('GET', '/channels?limit=100')).json.data).toHaveLength(before)
  })

  it('is edited, and absent fields keep their values', async () => {
    const { id } = await live.made('POST', '/channels', { name: 'a', externalId: 'edit-me' })
    expect(await live.made('PATCH', `/channels/${id}`, { timeout: 0 })).toMatchObject({ name: 'a', timeout: 0 })
    const renamed = await live.made('PATCH', `/channels/${id}`, { name: 'b', externalIds: [] })
    expect(renamed).toMatchObject({ name: 'b', timeout: 0, perpetual: true })
    expect(renamed).not.toHaveProperty('externalIds')
    expect(await live.v2('PATCH', `/channels/${id}`, { timeout: 59 })).toMatchObject({ status: 400 })
    expect(await live.made('PATCH', `/channels/${id}`, {})).toEqual(renamed)
  })

  it('has unique external ids: 409 links to the channel that has the id, and nothing is written', async () => {
    await live.made('POST', '/channels', { name: 'first', externalIds: ['one', 'two'] })
    const { id } = await live.made('POST', '/channels', { name: 'second', externalIds: ['three'] })
    const clash = await live.v2('PATCH', `/channels/${id}`, { name: 'changed', externalIds: ['three', 'two'] })
    expect(clash).toMatchObject({ status: 409, json: { code: 'external_id_taken' } })
    expect(await live.made('GET', `/channels/${id}`)).toMatchObject({ name: 'second', externalIds: ['three'] })
    expect(await live.v2('POST', '/channels', { name: 'x', externalId: 'one' })).toMatchObject({ status: 409 })
    const theirs = await live.v2('POST', '/channels', { name: 'x', externalId: 'one' }, { authorization: stranger })
    expect(theirs.status).toBe(200)
  })

  it('is found by name, part of its name, id, external id and status', async () => {
    const { id } = await live.made('POST', '/channels', { name: 'Needle in hay', externalId: 'needle' })
    const ids = async (query: string) =>
      (await live.v2('GET', `/channels?${query}`)).json.data.map((channel: { id: string }) => channel.id)
    expect(await ids('name=Needle%20in%20hay')).toEqual([id])
    expect(await ids('search=EEDLE')).toEqual([id])
    expect(await ids(`search=${id}`)).toEqual([id])
    expect(await ids(`id=${id},ch_nothing`)).toEqual([id])
    expect(await ids('externalId=needle')).toEqual([id])
    expect(await ids('externalId=needle&status=playing,error')).toEqual([])
    expect(await ids('externalId=needle&status=playing,stopped')).toEqual([id])
    expect(await live.v2('GET', '/channels?status=running')).toMatchObject({ status: 400 })
    expect((await live.v2('GET', '/channels?nmae=x&sort=up')).json.details).toHaveLength(2)
  })

  it('is deleted with its parts, but only while it is stopped', async () => {
    const made = await live.made('POST', '/channels', { ...WHOLE_CHANNEL, externalIds: [] })
    const engineId = made.engines[0].id
    const { store } = live.running.app.ctx
    await store.transaction((tx) => tx.engines.setStatus(engineId, 'waiting', null))
    const refused = await live.v2('DELETE', `/channels/${made.id}`)
    expect(refused).toMatchObject({ status: 409, json: { code: 'channel_running' } })
    expect(refused.json.message).toContain(engineId)
    expect((await live.v2('DELETE', `/engines/${engineId}`)).json.code).toBe('engine_running')
    await store.transaction((tx) => tx.engines.setStatus(engineId, 'error', { text: 'ffmpeg ended', sentences: [] }))
    expect(await live.made('GET', `/engines/${engineId}`)).toMatchObject({
      status: 'error',
      statusMessage: 'ffmpeg ended',
    })
    expect(await live.v2('DELETE', `/channels/${made.id}`)).toMatchObject({ status: 204, text: '' })
    for (const path of [
      `/channels/${made.id}`,
      `/channels/${made.id}/engines`,
      `/ingests/${made.ingests[0].id}`,
      `/engines/${engineId}`,
      `/distributions/${made.distributions[0].id}`,
    ]) {
      expect(await live.v2('GET', path)).toMatchObject({ status: 404, json: { code: 'not_found' } })
    }
  })
})

describe('an ingest', () => {
  const channel = () => live.made('POST', '/channels', { name: 'ingests' })

  it('gets a new key, and the old key stops working', async () => {
    const { id } = await channel()
    const made = await live.made('POST', `/channels/${id}/ingests`, { name: 'a', type: 'rtmp-push' })
    const rotated = await live.made('POST', `/ingests/${made.id}/rotate-key`)
    expect(rotated).toEqual({ ...made, streamKey: expect.stringMatching(/^[0-9a-f]{32}$/) })
    expect(rotated.streamKey).not.toBe(made.streamKey)
    const pull = { name: 'b', type: 'rtmp-pull', url: 'rtmp://source.example.com/live/a' }
    const { id: pullId } = await live.made('POST', `/channels/${id}/ingests`, pull)
    expect(await live.v2('POST', `/ingests/${pullId}/rotate-key`)).toMatchObject({ status: 409 })
  })

  test.each([
    ['rtmp-pull', 'rtmp://127.0.0.1/live/a'],
    ['rtmp-pull', 'rtmp://[::1]/live/a'],
    ['rtmp-pull', 'rtmp://[::ffff:10.0.0.1]/live/a'],
    ['rtmp-pull', 'rtmp://169.254.169.254/live/a'],
    ['rtmp-pull', 'rtmp://2130706433/live/a'],
    ['rtmp-pull', 'rtmp://0x7f.1/live/a'],
    ['rtmp-pull', 'rtmp://localhost/live/a'],
    ['rtmp-pull', 'rtmp://redis/live/a'],
    ['rtmp-pull', 'rtmp://user:secret@source.example.com/live/a'],
    ['rtmp-pull', 'http://source.example.com/live/a'],
    ['rtmp-pull', 'rtmp://source.example.com/live/a listen=1'],
    ['rtmp-pull', 'srt://source.example.com:9000'],
    ['srt-pull', 'srt://192.168.0.1:9000'],
    ['srt-pull', 'srt://source.example.com'],
    ['srt-pull', 'srt://source.example.com:9000?mode=listener'],
    ['srt-pull', 'srt://source.example.com:9000?localaddr=10.0.0.1'],
    ['srt-pull', 'file:///etc/passwd'],
    ['rtsp-pull', 'rtsp://viewer:secret@192.168.0.1/stream1'],
    ['rtsp-pull', 'rtsp://viewer:secret@127.0.0.1:8554/stream1'],
    ['rtsp-pull', 'rtsp://source.example.com:25/stream1'],
    ['rtsp-pull', 'rtsp://source.example.com/stream1#a'],
    ['rtsp-pull', 'rtsp://viewer:••••@source.example.com/stream1'],
    ['whep-pull', 'wheps://10.0.0.1/whep/a'],
    ['whep-pull', 'whep://token@source.example.com/whep/a'],
    ['whep-pull', 'https://source.example.com/whep/a'],
    ['whep-pull', 'rtsp://source.example.com/a'],
  ])('pulls from public hosts only, and gives the reason: %s %s', async (type, url) => {
    const { id } = await channel()
    const answer = await live.v2('POST', `/channels/${id}/ingests`, { name: 'a', type, url })
    expect(answer).toMatchObject({ status: 400, json: { code: 'validation_failed', details: [{ path: 'url' }] } })
  })

  it.each([
    ['rtsp-pull', 'rtsp://viewer:camera-password@source.example.com/stream1', 'rtsp://viewer:••••@'],
    ['whep-pull', 'wheps://:token-0123456789@source.example.com/whep/a', 'wheps://:••••@'],
  ])('%s keeps its password to itself, and an update with what it shows keeps the source', async (type, url, shown) => {
    const { id } = await channel()
    const made = await live.made('POST', `/channels/${id}/ingests`, { name: 'a', type, url })
    expect(made.url).toBe(url.replace(/^.*@/, shown))
    const { id: ingestId } = made
    const patch = (body: object) => live.v2('PATCH', `/ingests/${ingestId}`, body)
    expect((await patch({ url: made.url, name: 'b' })).json.data).toEqual({ ...made, name: 'b' })
    expect((await live.v2('GET', `/channels/${id}/ingests`)).text).not.toMatch(/camera-password|token-0123456789/)
    const { sealer, store } = live.running.app.ctx
    const [ingest] = await store.read.ingests.ofChannel(id)
    if (!ingest) throw new Error('no ingest')
    expect(sourceOf({ sealer }, ingest)).toBe(url)
    const other = url.replace('source.', 'other.')
    expect((await patch({ url: made.url.replace('source.', 'other.') })).status).toBe(400)
    expect((await patch({ url: other })).json.data.url).toBe(made.url.replace('source.', 'other.'))
  })

  it.each(['sdi-pull', 'ndi-pull'])('of type %s is refused with a reason', async (type) => {
    const { id } = await channel()
    const answer = await live.v2('POST', `/channels/${id}/ingests`, { name: 'a', type })
    expect(answer.json).toMatchObject({ details: [{ path: 'type', message: expect.stringContaining('not built') }] })
  })

  it('can change to a pull and back to a push, but not while an engine that uses it runs', async () => {
    const made = await live.made('POST', '/channels', { ...WHOLE_CHANNEL, externalIds: [] })
    const [{ id, streamKey }] = made.ingests
    const patch = (body: object) => live.v2('PATCH', `/ingests/${id}`, body)
    expect((await patch({ type: 'rtmp-pull' })).json.details).toMatchObject([{ path: 'url' }])
    const pull = { type: 'rtmp-pull', url: 'rtmp://source.example.com/live/a' }
    const { store } = live.running.app.ctx
    const engineId = made.engines[0].id
    await store.transaction((tx) => tx.engines.setStatus(engineId, 'playing', null))
    const refused = await patch(pull)
    expect(refused).toMatchObject({ status: 409, json: { code: 'ingest_in_use' } })
    expect(refused.json.message).toContain(engineId)
    // Clients send fields back as they read them, which changes nothing.
    const same = { name: 'still a name', type: 'rtmp-push', region: 'local' }
    expect(await patch(same)).toMatchObject({ status: 200, json: { data: { streamKey } } })
    await store.transaction((tx) => tx.engines.setStatus(engineId, 'stopped', null))
    expect((await patch(pull)).json.data).toMatchObject(pull)
    expect((await patch({ url: 'srt://source.example.com:1' })).status).toBe(400)
    const back = (await patch({ type: 'rtmp-push' })).json.data
    expect(back.streamKey).toMatch(/^[0-9a-f]{32}$/)
    expect(back.streamKey).not.toBe(streamKey)
  })

  it('is not deleted while engines use it, and the refusal names them', async () => {
    const made = await live.made('POST', '/channels', { ...WHOLE_CHANNEL, externalIds: [] })
    const refused = await live.v2('DELETE', `/ingests/${made.ingests[0].id}`)
    expect(refused).toMatchObject({ status: 409, json: { code: 'ingest_in_use' } })
    expect(refused.json.message).toContain(made.engines[1].id)
    for (const { id } of made.engines) expect((await live.v2('DELETE', `/engines/${id}`)).status).toBe(204)
    expect((await live.v2('DELETE', `/ingests/${made.ingests[0].id}`)).status).toBe(204)
    const [distribution] = made.distributions
    expect((await live.made('GET', `/distributions/${distribution.id}`)).endpoints.engineIds).toEqual([])
  })
})

describe('an engine', () => {
  it('is created on a channel or an ingest, is listed under both, and connects only to ingests of its channel', async () => {
    const [mine, other] = [
      await live.made('POST', '/channels', { ...WHOLE_CHANNEL, externalIds: [] }),
      await live.made('POST', '/channels', { ...WHOLE_CHANNEL, externalIds: [] }),
    ]
    const on = await live.made('POST', `/ingests/${mine.ingests[1].id}/engines`, { name: 'on' })
    const beside = await live.made('POST', `/channels/${mine.id}/engines`, { name: 'beside', region: 'local' })
    expect(on).toMatchObject({ ingestId: mine.ingests[1].id, channelId: mine.id })
    expect(beside).not.toHaveProperty('ingestId')
    const names = async (path: string) =>
      (await live.v2('GET', path)).json.data.map(({ name }: { name: string }) => name)
    expect(await names(`/ingests/${mine.ingests[1].id}/engines`)).toEqual(['on'])
    expect(await names(`/channels/${mine.id}/engines`)).toEqual(['beside', 'on', 'Spare', 'Main'])
    const cross = await live.v2('PATCH', `/engines/${beside.id}`, { ingestId: other.ingests[0].id })
    expect(cross.json.details).toMatchObject([{ path: 'ingestId' }])
    const joined = await live.made('PATCH', `/engines/${beside.id}`, { ingestId: mine.ingests[0].id, priority: -100 })
    expect(joined).toMatchObject({ ingestId: mine.ingests[0].id, priority: -100 })
    expect(await live.made('PATCH', `/engines/${beside.id}`, { ingestId: null })).not.toHaveProperty('ingestId')
    const nowhere = await live.v2('POST', `/channels/${mine.id}/engines`, { name: 'x', region: 'mars' })
    expect(nowhere.json.details).toMatchObject([{ path: 'region', message: expect.stringContaining('local') }])
  })

  it('cannot change its work while it runs, and keeps its ladder from being deleted', async () => {
    const rung = { width: 640, height: 360, bitrate: 800_000 }
    const ladder = await live.made('POST', '/abr', { name: 'small', video: [rung] })
    expect(ladder).toMatchObject({
      video: [{ id: '360p', label: '360p', codec: 'h264', ...rung }],
      audio: { bitrate: 128 },
    })
    const made = await live.made('POST', '/channels', { ...WHOLE_CHANNEL, externalIds: [] })
    const [{ id }] = made.engines
    const patch = (body: object) => live.v2('PATCH', `/engines/${id}`, body)
    expect((await patch({ quality: { abrLadderId: ladder.id } })).status).toBe(200)
    expect(await live.v2('DELETE', `/abr/${ladder.id}`)).toMatchObject({
      status: 409,
      json: { code: 'abr_ladder_in_use' },
    })
    const { store } = live.running.app.ctx
    await store.transaction((tx) => tx.engines.setStatus(id, 'starting', null))
    expect(await patch({ quality: { abrLadderId: 'ab_default' } })).toMatchObject({
      status: 409,
      json: { code: 'engine_running' },
    })
    expect((await patch({ name: 'renamed', quality: { abrLadderId: ladder.id } })).status).toBe(200)
    await store.transaction((tx) => tx.engines.setStatus(id, 'stopped', null))
    expect((await patch({ quality: { abrLadderId: 'ab_default' } })).status).toBe(200)
    expect((await live.v2('DELETE', `/abr/${ladder.id}`)).status).toBe(204)
  })
})

describe('an ABR ladder', () => {
  it('is changed as a whole list; the default ladder exists and cannot be deleted', async () => {
    const video = [
      { id: 'high', width: 1920, height: 1080, bitrate: 6_000_000, frameRate: { value: 30_000, scale: 1001 } },
      { width: 640, height: 360, bitrate: 700_000 },
    ]
    const made = await live.made('POST', '/abr', { name: 'two', video, audio: null })
    expect(made.video.map(({ id }: { id: string }) => id)).toEqual(['high', '360p'])
    expect(made.video[0].frameRate).toEqual({ value: 30_000, scale: 1001 })
    expect(made).not.toHaveProperty('audio')
    const changed = await live.made('PATCH', `/abr/${made.id}`, { video: [video[1]], audio: { bitrate: 64 } })
    expect(changed).toMatchObject({ name: 'two', audio: { bitrate: 64 } })
    expect(changed.video).toHaveLength(1)
    expect(await live.made('GET', `/abr/${made.id}`)).toEqual(changed)
    const all = await live.made('GET', '/abr')
    expect(all[0]).toEqual(changed)
    expect(all.at(-1)).toMatchObject({ id: 'ab_default' })
    for (const [method, body] of [['PATCH', { name: 'mine' }], ['DELETE']] as const) {
      expect(await live.v2(method, '/abr/ab_default', body)).toMatchObject({ status: 409 })
    }
    const listened = await live.made('PATCH', `/abr/${made.id}`, { audioOnly: true })
    expect([changed.audioOnly, listened.audioOnly, all.at(-1).audioOnly]).toEqual([false, true, false])
    expect(await live.made('GET', `/abr/${made.id}`)).toEqual(listened)
    expect(await live.v2('PATCH', `/abr/${made.id}`, { audio: null })).toMatchObject({
      status: 400,
      json: { details: [{ path: 'audioOnly' }] },
    })
    const copied = await live.made('PATCH', `/abr/${made.id}`, { video: [{ ...video[1], copy: true }] })
    expect(copied.video).toEqual([
      { id: '360p', label: '360p', width: 640, height: 360, bitrate: 700_000, codec: 'h264', copy: true },
    ])
    const wrong = [
      { ...video[1], copy: true },
      { ...video[0], copy: true },
    ]
    const refused = await live.v2('PATCH', `/abr/${made.id}`, { video: wrong })
    expect(refused.json.details.map(({ path }: { path: string }) => path)).toEqual([
      'video[1].copy',
      'video[1].frameRate',
    ])
    const twice = await live.v2('POST', '/abr', {
      name: 'x',
      video: [video[1], video[1], { ...video[1], id: 'a b', width: 641 }],
    })
    expect(twice.json.details.map(({ path }: { path: string }) => path)).toEqual([
      'video[1].id',
      'video[2].width',
      'video[2].id',
    ])
  })
})
