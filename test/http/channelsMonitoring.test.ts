import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { RtmpClient } from '../media/rtmp/client.ts'
import { type ChannelsClient, runChannels, strangerOf, WHOLE_CHANNEL } from '../support/channelsClient.ts'

let live: ChannelsClient
let stranger: string
let made: Awaited<ReturnType<ChannelsClient['made']>>
beforeAll(async () => {
  live = await runChannels()
  stranger = await strangerOf(live)
  made = await live.made('POST', '/channels', WHOLE_CHANNEL)
})
afterAll(() => live.close())

const port = () => live.running.rtmpPort ?? 0
const ingest = () => `/monitoring/ingests/${made.ingests[0].id}`
const all = (kind: string) => `/monitoring/channels/${made.id}/${kind}`
const engine = () => `/monitoring/engines/${made.engines[0].id}`

test('unknown objects and those of another account are not found, and old measurements are gone', async () => {
  const range = (from: number, to: number) => {
    const nowMs = Date.now()
    const ago = (seconds: number) => new Date(nowMs - seconds * 1000).toISOString()
    return `start=${ago(from)}&end=${ago(to)}`
  }
  for (const path of [ingest(), engine(), all('ingests'), all('engines')]) {
    expect((await live.v2('GET', path, undefined, { authorization: stranger })).status).toBe(404)
    expect((await live.v2('GET', path.replace(/_\w+/, `_${'1'.repeat(22)}`))).status).toBe(404)
    expect((await live.v2('GET', `${path}?${range(300, 240)}`)).status).toBe(200)
    const { status, json } = await live.v2('GET', `${path}?${range(600, 240)}`)
    expect([status, json.code]).toEqual([400, 'validation_failed'])
    expect(json.details).toEqual([
      { path: 'end', message: 'must be at most one minute later than start' },
      { path: 'start', message: expect.stringContaining('within the last five minutes') as string },
    ])
  }
  expect((await live.v2('GET', '/monitoring/distributions/di_x')).status).toBe(501)
})

test('a publisher may push to a stopped channel, and a note says that its media is discarded', async () => {
  const engines = [{ name: 'Main' }]
  const ingests = [{ name: 'Camera', type: 'rtmp-push', engines }]
  const channel = await live.made('POST', '/channels', { name: 'Early', ingests })
  const [{ id, streamKey }] = channel.ingests
  const publisher = await RtmpClient.open(port())
  await publisher.publish('live', streamKey)
  const monitored = () => live.made('GET', `/monitoring/ingests/${id}`)
  const unused = { status: 'connected', note: expect.stringMatching(/^No engine that uses this ingest runs/) }
  expect(await monitored()).toMatchObject(unused)
  await live.v2('POST', `/channels/${channel.id}/start`)
  expect((await monitored()).note).toBeUndefined()
  await live.v2('POST', `/channels/${channel.id}/stop`)
  expect(await monitored()).toMatchObject(unused)
  publisher.socket.destroy()
  await expect.poll(async () => (await monitored()).status).toBe('disconnected')
  expect((await monitored()).note).toBeUndefined()
})

test('a publisher with a stream key that comes and goes all the time reads that it has to wait', async () => {
  const ingests = [{ name: 'Camera', type: 'rtmp-push', engines: [{ name: 'Main' }] }]
  const [{ id, streamKey }] = (await live.made('POST', '/channels', { name: 'Loop', ingests })).ingests
  const { starts, clock } = live.running.app.ctx
  const nowMs = Math.round(clock.monotonic())
  const frozen = vi.spyOn(clock, 'monotonic').mockReturnValue(nowMs)
  const before = { action: 'publish', addressKey: '127.0.0.1', holder: `ingest ${id}` } as const
  for (let n = 0; n < 1199; n += 1) starts.note(before, nowMs)
  const [taken, refused] = [await RtmpClient.open(port()), await RtmpClient.open(port())]
  await taken.publish('live', streamKey)
  await refused.publish('live', streamKey).catch(() => undefined)
  expect(await refused.status()).toMatchObject({
    code: 'NetStream.Publish.Denied',
    description: 'Too many sessions have begun in the last ten minutes: try again later',
  })
  frozen.mockRestore()
  for (const { socket } of [taken, refused]) socket.destroy()
})

test('without a source there are no measurements, of one part or of all', async () => {
  expect(await live.made('GET', ingest())).toEqual({
    id: made.ingests[0].id,
    status: 'disconnected',
    protocol: made.ingests[0].type.split('-')[0],
    metrics: [],
  })
  const none = { id: made.engines[0].id, status: 'stopped', renditions: [], restreams: [] }
  expect(await live.made('GET', engine())).toEqual(none)
  const idsOf = (parts: { id: string }[]) => new Set(parts.map(({ id }) => id))
  for (const kind of ['ingests', 'engines']) {
    const { data, pagination } = (await live.v2('GET', `${all(kind)}?limit=2`)).json
    expect(idsOf(data)).toEqual(idsOf(made[kind]))
    expect(data).toContainEqual(await live.made('GET', `/monitoring/${kind}/${made[kind][0].id}`))
    expect(pagination).toEqual({ hasMore: false })
  }
})

test('a start that probably exceeds the machine succeeds, and both the answer and the engine warn', async () => {
  const rung = { width: 7680, height: 4320, bitrate: 50_000_000, frameRate: { value: 120 } }
  const huge = await live.made('POST', '/abr', { name: 'huge', video: [8, 9].map((id) => ({ ...rung, id: `${id}` })) })
  const engines = [{ name: 'Main', quality: { abrLadderId: huge.id } }, { name: 'Small' }]
  const ingests = [{ name: 'Camera', type: 'rtmp-push', engines }]
  const channel = await live.made('POST', '/channels', { name: 'Huge', ingests })
  const idOf = (name: string) => channel.engines.find((engine: { name: string }) => engine.name === name).id
  const start = async (path: string, authorization?: string) => {
    const answer = await live.v2('POST', `${path}/start`, undefined, authorization ? { authorization } : {})
    return [answer.status, answer.headers.get('x-service-warning')]
  }
  expect(await start(`/engines/${idOf('Small')}`)).toEqual([204, null])
  expect(await start(`/channels/${channel.id}`, stranger)).toEqual([404, null])
  const text = /^This machine may not keep up with what is started: it needs about [0-9.]+ processors/
  expect(await start(`/channels/${channel.id}`)).toEqual([204, expect.stringMatching(text)])
  // Engines that run already are not started.
  expect(await start(`/engines/${idOf('Main')}`)).toEqual([204, null])
  await expect.poll(async () => (await live.made('GET', `/engines/${idOf('Main')}`)).statusMessage).toMatch(text)
  expect((await live.made('GET', `/engines/${idOf('Small')}`)).statusMessage).toBeUndefined()
  const monitored = await live.made('GET', `/monitoring/channels/${channel.id}`)
  expect(monitored.engines[0]).toMatchObject({ id: idOf('Main'), statusMessage: expect.stringMatching(text) })
  await live.v2('POST', `/channels/${channel.id}/stop`)
})

test('a node with neither the engine nor the publisher names the node that may have it', async () => {
  const { store } = live.running.app.ctx
  const refused = async (path: string) => {
    const { status, json } = await live.v2('GET', path)
    return [status, json.code, json.message]
  }
  const node = { id: 'node_2', hostKey: 'studio:/data', pid: 7, url: null }
  await store.transaction((tx) => tx.nodes.insert(node, 60_000))
  const push = made.ingests.find(({ type }: { type: string }) => type === 'rtmp-push')
  const pull = made.ingests.find(({ type }: { type: string }) => type === 'srt-pull')
  const mayBe = [409, 'at_another_node', expect.stringContaining('one may at another: on studio') as string]
  expect(await refused(`/monitoring/ingests/${push.id}`)).toEqual(mayBe)
  // No engine runs, so none pulls the source.
  expect((await live.v2('GET', `/monitoring/ingests/${pull.id}`)).status).toBe(200)

  const of = { accountId: live.running.accountId, channelId: made.id, engineId: made.engines[0].id }
  const state = { ...of, wanted: true, node: null, runId: null }
  await store.transaction(async (tx) => {
    await tx.engineStates.put({ ...state, idleSinceMs: null, failures: 0, retryAtMs: null })
    await tx.engineStates.take(of.engineId, 'studio:/data#7#x', 60_000)
  })
  const runs = [409, 'at_another_node', expect.stringContaining('runs at another node, on studio') as string]
  for (const path of [engine(), all('engines')]) expect(await refused(path)).toEqual(runs)
  expect(await refused(ingest())).toEqual(runs)
  await store.transaction((tx) => tx.nodes.delete('node_2'))
  await store.transaction((tx) => tx.nodes.insert({ ...node, url: 'https://two.example.com' }, 60_000))
  expect((await refused(engine()))[2]).toContain('https://two.example.com')
})
