import { afterAll, beforeAll, expect, test } from 'vitest'
import { admitPublisher, mayView } from '../../src/commands/sessions/admit.ts'
import { followPulls } from '../../src/commands/pulls/claimPulls.ts'
import { draining } from '../support/draining.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import {
  attemptOf,
  makeToken,
  publish,
  startTestNode,
  type TestNode,
  tryToView,
  type Use,
} from '../support/testNode.ts'
import { until } from '../support/until.ts'

const [SOUTH, WEST] = ['https://south.example.com', 'https://west.example.com']
let place: Place
let north: TestNode
let south: TestNode
let west: TestNode

beforeAll(async () => {
  const [engine = 'SQLite'] = testedStores()
  place = await newPlace(engine)
  north = await startTestNode({ url: place.url, flags: { server: { region: 'north' } } })
  south = await startTestNode({ url: place.url, flags: { server: { region: 'south' } }, nodeUrl: SOUTH })
  west = await startTestNode({ url: place.url, flags: { server: { region: 'west' } }, nodeUrl: WEST })
})
afterAll(async () => {
  await north.close()
  await south.close()
  await west.close()
  await place.remove()
})

/** What a publisher is answered. */
const ask = ({ ctx }: TestNode, use: Use, followsRedirects = true) =>
  admitPublisher(ctx, attemptOf(use), { sourceId: null, followsRedirects, cut: async () => undefined })

const ONLY_SOUTH = 'This token publishes only at servers of the region south'

test('a token with a region takes publishers there: others are sent on, or told where it is good', async () => {
  const { id, token: presented } = await makeToken(north, 'publish', { originCluster: 'south' })
  expect(await ask(south, { presented, streamName: 'one' })).toMatchObject({ ok: true })
  expect(await ask(north, { presented })).toMatchObject({ status: 307, code: 'redirected', url: SOUTH })
  const refused = { ok: false, status: 503, code: 'region_not_allowed', message: ONLY_SOUTH }
  // One that another node has sent on, and protocols that cannot be sent on.
  expect(await ask(north, { presented }, false)).toEqual(refused)
  for (const protocol of ['rtmp', 'srt', 'pull'] as const)
    expect(await ask(north, { presented, protocol }, false)).toEqual(refused)

  const question = { action: 'publish', streamName: 'a', token: presented, ip: '192.0.2.1', protocol: 'whip' }
  const check = async (at: TestNode) => (await at.call('POST', '/api/access/check', question)).json.data
  expect(await check(north)).toMatchObject({ allowed: false, code: 'region_not_allowed', message: ONLY_SOUTH })
  expect(await check(south)).toMatchObject({ allowed: true })
  await north.ctx.recorder.reconcile()
  const logged = async (code: string) => {
    const { json } = await north.call('GET', `/api/access/log?tokenId=${id}&code=${code}`)
    return (await north.call('GET', `/api/access/log/${json.data[0].id}`)).json.data.trace
  }
  const inNorth = 'the token takes publishers in the region south, and this node is in north'
  const region = { check: 'region', outcome: 'fail', detail: inNorth }
  expect((await logged('region_not_allowed')).at(-1)).toEqual(region)
  expect((await logged('redirected')).slice(-2)).toEqual([
    region,
    { check: 'node', outcome: 'pass', detail: `redirected to ${SOUTH}` },
  ])
})

test('a stream for some regions is shown there: viewers at other nodes go on to the node of its publisher', async () => {
  const { token: presented } = await makeToken(north, 'publish', {
    geoCascade: { isEnabled: true, clusters: ['north'] },
  })
  await publish(south, { presented, streamName: 'kept' })
  await publish(south, { presented: (await makeToken(north, 'publish')).token, streamName: 'open' })
  const streamsAt = ({ ctx }: TestNode) => ctx.streamsOnAir(north.accountId, 'open')
  await until(() => streamsAt(north) && streamsAt(west))
  const see = async (at: TestNode, streamName: string) => {
    const attempt = attemptOf({ action: 'view', protocol: 'hls', accountId: north.accountId, streamName })
    const seen = await mayView(at.ctx, attempt, { sourceId: null })
    return seen.ok ? seen.url : [seen.status, 'url' in seen && seen.url]
  }
  // The region of the publisher always has it.
  expect([await see(south, 'kept'), await see(north, 'kept')]).toEqual([null, SOUTH])
  expect([await see(west, 'kept'), await see(west, 'open')]).toEqual([[307, SOUTH], SOUTH])
  expect(await tryToView(west, { streamName: 'kept' })).toMatchObject({ status: 307, url: SOUTH })

  // A node that drains sends its viewers to none elsewhere.
  south.ctx.sessions.drain = draining({ nodes: [{ url: WEST, region: 'west' }] })
  expect([await see(south, 'kept'), await see(south, 'open')]).toEqual([
    [503, false],
    [307, WEST],
  ])
  south.ctx.sessions.drain = null
})

test('an address is bound where the publisher is admitted, and not where it is sent on', async () => {
  const { id, token: presented } = await makeToken(north, 'publish', { originCluster: 'south', bindIpsOnUsage: 1 })
  const bound = async () => (await north.call('GET', `/api/publish_token/${id}/bound_ips`)).json.data.length
  await ask(north, { presented })
  expect(await bound()).toBe(0)
  await ask(south, { presented, streamName: 'bound' })
  expect(await bound()).toBe(1)
})

test('a change of the region ends broadcasts elsewhere, and a region of the account is that of tokens without one', async () => {
  const { id, token: presented } = await makeToken(north, 'publish')
  const { cuts } = await publish(north, { presented, streamName: 'moving' })
  await north.call('PUT', `/api/v2/publish_token/${id}`, { originCluster: 'south' })
  await until(() => cuts.length > 0)
  expect(cuts).toEqual(['token_edited'])
  await north.call('PUT', `/api/v2/publish_token/${id}`, { originCluster: '' })
  expect(await ask(north, { presented, streamName: 'moving' })).toMatchObject({ ok: true })
  await north.call('PUT', '/api/cluster', { defaultCluster: 'south' })
  expect(await ask(north, { presented })).toMatchObject({ url: SOUTH })
  await north.call('PUT', '/api/cluster', { defaultCluster: 'auto' })
  expect(await ask(north, { presented })).toMatchObject({ ok: true })
})

test('a source that is dialled runs in the region of its token; without a node there, one says why it does not', async () => {
  const { id: tokenId } = await makeToken(north, 'publish', { originCluster: 'south' })
  const pull = { tokenId, streamName: 'camera', url: 'rtsp://camera.example.com/' }
  const { id } = (await north.call('POST', '/api/pulls', pull)).json.data
  const claims = async ({ ctx }: TestNode) => (await followPulls(ctx)).map((one) => one.id)
  expect(await claims(north)).toEqual([])
  expect(await claims(south)).toEqual([id])
  south.ctx.sessions.drain = draining({})
  await south.ctx.store.transaction((tx) => tx.nodes.drain(south.ctx.sessions.node))
  expect([await claims(south), await claims(north)]).toEqual([[], [id]])
  const again = await startTestNode({ url: place.url, flags: { server: { region: 'south' } } })
  expect([await claims(north), await claims(again)]).toEqual([[], [id]])
  await again.close()
})
