import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LiveClient, runLive, strangerOf, WHOLE_CHANNEL } from '../support/v2.ts'

let live: LiveClient
let stranger: string
let made: Awaited<ReturnType<LiveClient['made']>>
beforeAll(async () => {
  live = await runLive()
  stranger = await strangerOf(live)
  made = await live.made('POST', '/channels', WHOLE_CHANNEL)
})
afterAll(() => live.close())

const ingest = () => `/monitoring/ingests/${made.ingests[0].id}`
const all = (kind: string) => `/monitoring/channels/${made.id}/${kind}`
const engine = () => `/monitoring/engines/${made.engines[0].id}`

test('what is not there, or another account’s, is not found, and what was too long ago is not known', async () => {
  const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString()
  for (const path of [ingest(), engine(), all('ingests'), all('engines')]) {
    expect((await live.v2('GET', path, undefined, { authorization: stranger })).status).toBe(404)
    expect((await live.v2('GET', path.replace(/_\w+/, `_${'1'.repeat(22)}`))).status).toBe(404)
    expect((await live.v2('GET', `${path}?start=${ago(300)}&end=${ago(240)}`)).status).toBe(200)
    const { status, json } = await live.v2('GET', `${path}?start=${ago(600)}&end=${ago(240)}`)
    expect([status, json.code]).toEqual([400, 'validation_failed'])
    expect(json.details).toEqual([
      { path: 'end', message: 'must be at most one minute later than start' },
      { path: 'start', message: expect.stringContaining('within the last five minutes') as string },
    ])
  }
  expect((await live.v2('GET', '/monitoring/distributions/di_x')).status).toBe(501)
})

test('without a source nothing is measured, of one or of all', async () => {
  expect(await live.made('GET', ingest())).toEqual({
    id: made.ingests[0].id,
    status: 'disconnected',
    protocol: made.ingests[0].type.split('-')[0],
    metrics: [],
  })
  expect(await live.made('GET', engine())).toEqual({ id: made.engines[0].id, status: 'stopped', renditions: [] })
  const idsOf = (parts: { id: string }[]) => new Set(parts.map(({ id }) => id))
  for (const kind of ['ingests', 'engines']) {
    const { data, pagination } = (await live.v2('GET', `${all(kind)}?limit=2`)).json
    expect(idsOf(data)).toEqual(idsOf(made[kind]))
    expect(data).toContainEqual(await live.made('GET', `/monitoring/${kind}/${made[kind][0].id}`))
    expect(pagination).toEqual({ hasMore: false })
  }
})

test('a node that has neither the engine nor the encoder names the one that may have it', async () => {
  const { store } = live.running.app.ctx
  const refused = async (path: string) => {
    const { status, json } = await live.v2('GET', path)
    return [status, json.code, json.message]
  }
  const node = { id: 'node_2', place: 'studio:/data', pid: 7, url: null }
  await store.transaction((tx) => tx.nodes.insert(node, 60_000))
  const push = made.ingests.find(({ type }: { type: string }) => type === 'rtmp-push')
  const pull = made.ingests.find(({ type }: { type: string }) => type === 'srt-pull')
  const mayBe = [409, 'at_another_node', expect.stringContaining('one may at another: on studio') as string]
  expect(await refused(`/monitoring/ingests/${push.id}`)).toEqual(mayBe)
  // Nobody dials while no engine runs.
  expect((await live.v2('GET', `/monitoring/ingests/${pull.id}`)).status).toBe(200)

  const of = { accountId: live.running.accountId, channelId: made.id, engineId: made.engines[0].id }
  const life = { ...of, wanted: true, node: null, runId: null }
  await store.transaction(async (tx) => {
    await tx.lives.put({ ...life, idleSinceMs: null, failures: 0, retryAtMs: null })
    await tx.lives.take(of.engineId, 'studio:/data#7#x', 60_000)
  })
  const runs = [409, 'at_another_node', expect.stringContaining('runs at another node, on studio') as string]
  for (const path of [engine(), all('engines')]) expect(await refused(path)).toEqual(runs)
  expect(await refused(ingest())).toEqual(runs)
  await store.transaction((tx) => tx.nodes.delete('node_2'))
  await store.transaction((tx) => tx.nodes.insert({ ...node, url: 'https://two.example.com' }, 60_000))
  expect((await refused(engine()))[2]).toContain('https://two.example.com')
})
