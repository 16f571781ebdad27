import { expect, it, onTestFinished } from 'vitest'
import { VERSION } from '../../src/base/version.ts'
import type { PartialConfig } from '../../src/config/schema.ts'
import { runApp } from '../support/app.ts'
import { credential } from '../support/channelsClient.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'

async function read(flags: PartialConfig, headers: Record<string, string> = {}) {
  const sluice = await runApp({ flags, engine: new ScriptedEngine() })
  const { json, status } = await sluice.call('GET', '/api/server', undefined, headers)
  const { base, accountId } = sluice
  const { node } = sluice.app.ctx.sessions
  await sluice.close()
  expect(status).toBe(200)
  return { base, accountId, node, data: json.data }
}

it('GET /api/server answers the addresses for publishers and viewers, ports, limits and the version', async () => {
  const { base, accountId, node, data } = await read({})
  expect(data).toMatchObject({ version: VERSION, node, hasCountryDatabase: false })
  expect(data.addresses).toMatchObject({
    base,
    baseSource: 'request',
    whep: `${base}/api/whep/${accountId}/{streamName}`,
  })
  expect(data.addresses.rtmp).toMatch(/^rtmp:\/\/127\.0\.0\.1.*\/v2\/pub\/\{streamName\}$/)
  expect(data.limits.sessions).toBeGreaterThan(0)
  expect(Math.abs(Date.parse(data.time) - Date.now())).toBeLessThan(600_000)
})

it('the links of lists have the path prefix that a trusted proxy removed', async () => {
  const sluice = await runApp({ flags: { server: { trustedProxies: ['127.0.0.1'] } } })
  const prefixed = { 'x-forwarded-prefix': '/live' }
  const tokens = await sluice.call('GET', '/api/publish_token/list?itemsOnPage=1', undefined, prefixed)
  expect(tokens.headers.get('link')).toMatch(/^<\/live\/api\/publish_token\/list\?itemsOnPage=1&page=1>; rel="first"/)
  const basic = { authorization: await credential(sluice, 'write') }
  const { id } = (await sluice.call('POST', '/v2/channels', { name: 'Stage' }, basic)).json.data
  const linkWith = async (more: object) =>
    (await sluice.call('GET', `/v2/channels/${id}?include=engines`, undefined, { ...basic, ...more })).json.engines.link
  expect(await linkWith(prefixed)).toBe(`/live/v2/channels/${id}/engines`)
  expect(await linkWith({})).toBe(`/v2/channels/${id}/engines`)
  await sluice.close()
})

it('believes the headers of a trusted proxy only, and leaves out RTMP when it is off', async () => {
  const proxy = { 'x-forwarded-host': 'live.example.com', 'x-forwarded-proto': 'https' }
  const rtmp = { enabled: false }
  const trusted = await read({ rtmp, server: { trustedProxies: ['127.0.0.1'] } }, proxy)
  expect(trusted.data.addresses.base).toBe('https://live.example.com')
  expect(trusted.data.addresses).not.toHaveProperty('rtmp')
  expect(trusted.data.ports).not.toHaveProperty('rtmp')
  const other = await read({ rtmp }, proxy)
  expect(other.data.addresses.base).toBe(other.base)
  const configured = await read({ rtmp, server: { publicUrl: 'https://tv.example.com/x/' } }, proxy)
  expect(configured.data.addresses).toMatchObject({ base: 'https://tv.example.com/x', baseSource: 'publicUrl' })
})

it('is the cluster auto, which has all publish tokens', async () => {
  const sluice = await runApp({ engine: new ScriptedEngine() })
  onTestFinished(() => sluice.close())
  const { json } = await sluice.call('GET', '/api/cluster')
  const { rtmp, srt } = (await sluice.call('GET', '/api/server')).json.data.addresses
  expect(json.data).toEqual({
    defaultCluster: 'auto',
    availableClusters: [
      {
        id: 'auto',
        name: 'auto',
        rtmp: new URL(rtmp).host,
        srt: new URL(srt).host,
        location: { city: '', region: '', country: '' },
        features: { transcoding: false },
      },
    ],
  })
  const choose = (defaultCluster: unknown) => sluice.call('PUT', '/api/cluster', { defaultCluster })
  expect((await choose('auto')).json).toEqual(json)
  for (const cluster of ['fra-1', null, 7, '']) {
    const refused = await choose(cluster)
    expect([refused.status, refused.json.data.errors]).toEqual([400, { defaultCluster: [expect.any(String)] }])
  }

  const { json: made } = await sluice.call('POST', '/api/publish_token', { label: 'a', streams: [{ streamName: 's' }] })
  const tokensOf = (query: string) => sluice.call('GET', `/api/publish_token/list_by_cluster?${query}`)
  expect((await tokensOf('cluster=auto&page=1&itemsOnPage=10')).json.data).toEqual([made.data])
  for (const query of ['', 'cluster=fra-1']) {
    const refused = await tokensOf(query)
    expect([refused.status, refused.json.data.errors]).toEqual([400, { cluster: [expect.any(String)] }])
  }
  expect((await sluice.call('GET', '/api/subscribe_token/list_by_cluster?cluster=auto')).status).toBe(404)
})

it('has its region as a cluster, and none has hosts for protocols that are off', async () => {
  const flags = { server: { region: 'north' }, rtmp: { enabled: false }, srt: { enabled: false } }
  const sluice = await runApp({ flags, engine: new ScriptedEngine() })
  onTestFinished(() => sluice.close())
  const { json } = await sluice.call('GET', '/api/cluster')
  expect(json.data.availableClusters).toMatchObject([
    { id: 'auto', rtmp: '', srt: '' },
    { id: 'north', name: 'north', rtmp: '', srt: '' },
  ])
  expect((await sluice.call('GET', '/api/nodes')).json.data.nodes).toMatchObject([{ region: 'north' }])

  const create = async (label: string, more: object) => {
    const body = { label, streams: [{ streamName: 's' }], ...more }
    return (await sluice.call('POST', '/api/publish_token', body)).json.data
  }
  const [open, every, bound] = [
    await create('open', {}),
    await create('every', { originCluster: 'auto' }),
    await create('bound', { originCluster: 'north' }),
  ]
  const effective = async ({ id }: { id: number }) =>
    (await sluice.call('GET', `/api/publish_token/${id}`)).json.data.effectiveSettings.originCluster
  const listed = async (cluster: string) => {
    const { json: list } = await sluice.call(
      'GET',
      `/api/publish_token/list_by_cluster?cluster=${cluster}&sortBy=AddedOn`,
    )
    return list.data.map(({ label }: { label: string }) => label)
  }
  expect([await effective(open), await effective(every), await effective(bound)]).toEqual(['auto', 'auto', 'north'])
  expect([await listed('auto'), await listed('north')]).toEqual([['open', 'every'], ['bound']])
  const chosen = await sluice.call('PUT', '/api/cluster', { defaultCluster: 'north' })
  expect([chosen.status, chosen.json.data.defaultCluster]).toEqual([200, 'north'])
  expect([await effective(open), await effective(every)]).toEqual(['north', 'auto'])
  expect([await listed('auto'), await listed('north')]).toEqual([['every'], ['open', 'bound']])
  const wrong = await create('wrong', { originCluster: 'south' })
  expect(wrong.errors).toEqual({
    originCluster: ['must be auto or a region of nodes (north), not south'],
  })
})

it('a person at a wrong address gets a page that leads to the start, and a program gets JSON', async () => {
  const sluice = await runApp({ engine: new ScriptedEngine() })
  onTestFinished(() => sluice.close())
  const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
  for (const path of ['/watch/account', '/nothing', '/a/b/<script>', '/api/nothing']) {
    const answer = await fetch(sluice.base + path, { headers: browser })
    expect([path, answer.status, answer.headers.get('content-type')]).toEqual([path, 404, 'text/html; charset=utf-8'])
    expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'self';/)
    const page = await answer.text()
    expect(page).not.toContain('script')
    for (const [, link = ''] of page.matchAll(/href="([^"]+)"/g)) {
      const there = await fetch(new URL(link, sluice.base + path), { headers: browser, redirect: 'manual' })
      expect([link, there.status < 400]).toEqual([link, true])
    }
    const program = await sluice.call('GET', path, undefined, { accept: '*/*' })
    expect([program.status, program.json.status]).toEqual([404, 'fail'])
  }
  // Another method is a program's, and something is at this one.
  expect(
    (await fetch(`${sluice.base}/nothing`, { method: 'POST', headers: browser })).headers.get('content-type'),
  ).toMatch(/json/)
  expect((await fetch(`${sluice.base}/api/whip/show`, { headers: browser })).status).toBe(405)
})
