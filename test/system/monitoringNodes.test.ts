import { afterAll, beforeAll, expect, test } from 'vitest'
import { endChildren, pushTo } from '../support/channels.ts'
import { until } from '../support/until.ts'
import { newPlace, type Place } from '../support/place.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'

let place: Place
let nodes: ChannelsClient[]

beforeAll(async () => {
  place = await newPlace('PostgreSQL')
  nodes = [await node('https://one.example.com'), await node('https://two.example.com')]
})
afterAll(async () => {
  endChildren()
  for (const one of nodes) await one.close()
  await place.remove()
})

function node(nodeUrl: string): Promise<ChannelsClient> {
  const secrets = { sealingKey: SEALING_KEY }
  return runChannels({ flags: { storage: { url: place.url }, secrets, server: { nodeUrl } } })
}

const ladder = { name: 'tiny', video: [{ width: 96, height: 54, bitrate: 100_000 }] }

test('of two nodes, the one with the engine reports its measurements, and the other one names that node', async () => {
  const [one] = nodes
  if (!one) throw new Error('no node')
  const { id: abrLadderId } = await one.made('POST', '/abr', ladder)
  const engines = [{ name: 'Main', quality: { abrLadderId } }]
  const made = await one.made('POST', '/channels', {
    name: 'Stage',
    ingests: [{ name: 'Camera', type: 'rtmp-push', engines }],
  })
  const [ingest, engine] = [`/monitoring/ingests/${made.ingests[0].id}`, `/monitoring/engines/${made.engines[0].id}`]
  const asked = (path: string) => Promise.all(nodes.map(async (each) => (await each.v2('GET', path)).status))
  // Each of them may have the publisher, and neither has the engine.
  expect([await asked(ingest), await asked(engine)]).toEqual([
    [409, 409],
    [200, 200],
  ])
  await one.v2('POST', `/channels/${made.id}/start`)
  await until(async () => (await asked(engine)).includes(409), 'an engine at one of the nodes')
  const [here, there] = (await asked(engine))[0] === 200 ? nodes : nodes.toReversed()
  if (!here || !there) throw new Error('no node')
  for (const path of [ingest, engine]) {
    const { json } = await there.v2('GET', path)
    expect(json.code).toBe('at_another_node')
    expect(json.message).toContain(here === one ? 'https://one.example.com' : 'https://two.example.com')
  }
  expect(await here.made('GET', ingest)).toMatchObject({ status: 'disconnected', metrics: [] })
  pushTo(`rtmp://127.0.0.1:${here.running.rtmpPort}/live/${made.ingests[0].streamKey}`)
  await until(async () => (await here.made('GET', engine)).renditions.length === 1, 'segments')
  expect(await here.made('GET', ingest)).toMatchObject({ status: 'connected' })
  expect([await asked(ingest), await asked(engine)].flat().toSorted((a, b) => a - b)).toEqual([200, 200, 409, 409])
})
