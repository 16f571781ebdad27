import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { hostKeyOf } from '../../src/config/dataDirectory.ts'
import { RtmpClient } from '../media/rtmp/client.ts'
import { aacConfig, audioFrame, avcConfig, videoFrame } from '../media/rtmp/media.ts'
import { listenFor, type Place as Listener, type RtmpPublication } from '../media/rtmp/publications.ts'
import { type RunningApp, runApp } from '../support/app.ts'
import { endChildren, pushTo } from '../support/channels.ts'
import { credential } from '../support/channelsClient.ts'
import { receiveEvents } from '../support/eventReceiver.ts'
import { newPlace, type Place } from '../support/place.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'
import { makeToken } from '../support/testNode.ts'
import { eventually, until } from '../support/until.ts'
import { endServers, newDirectory, serve, type Served } from './cliProcess.ts'

/** A publisher sends a few frames, and the next ones when the test has seen what it waits for. */
const SILENCE_MS = 300_000

let place: Place
let nodes: [RunningApp, RunningApp]
let targets: [Listener, Listener]
beforeAll(async () => {
  place = await newPlace('PostgreSQL')
  const secrets = { sealingKey: SEALING_KEY }
  const webrtc = { host: '127.0.0.1', port: 0 }
  const media = { allowedNetworks: ['127.0.0.0/8'] }
  const webhooks = { allowPrivateTargets: true }
  const flags = {
    storage: { url: place.url },
    secrets,
    webrtc,
    media,
    webhooks,
    rtmp: { idleSeconds: SILENCE_MS / 1000 },
  }
  nodes = [await runApp({ flags }), await runApp({ flags })]
  targets = [await listenFor({ idleMs: SILENCE_MS }), await listenFor({ idleMs: SILENCE_MS })]
})
afterEach(() => {
  endChildren()
  endServers()
})
afterAll(async () => {
  for (const one of targets) await one.stop()
  for (const node of nodes) await node.close()
  await place.remove()
})

const targetOf = ({ port }: Listener, label: string) => ({
  url: `rtmp://127.0.0.1:${port}/app`,
  key: `key of ${label}`.replaceAll(' ', '-'),
  label,
})
const publicationOf = (target: Listener): Promise<RtmpPublication> => until(() => target.publications.at(-1) ?? false)

test('targets of a broadcast at another node are added, taken away and switched off, and end with their token', async () => {
  const [there, here] = nodes
  const [first, second] = targets
  const [one, other] = [targetOf(first, 'first'), targetOf(second, 'second')]
  const { id, token } = await makeToken(here, 'publish', { restream: [one] })
  const client = await RtmpClient.open(there.rtmpPort ?? 0)
  await client.publish('v2/pub', `show?token=${token}`)
  client.send(avcConfig(), aacConfig(), videoFrame(0), audioFrame(10))
  const begun = await publicationOf(first)

  const set = (restream: object[]) => here.call('PUT', `/api/v2/publish_token/${id}`, { restream })
  expect((await set([one, other])).status).toBe(200)
  const added = await publicationOf(second)
  const states = async () => {
    const [stream] = (await here.call('GET', '/api/streams/live')).json.data
    return (stream?.restreams ?? []).map(({ label, status }: { label: string; status: string }) => `${label} ${status}`)
  }
  await eventually(async () => expect(await states()).toEqual(['first live', 'second live']))
  expect((await set([other])).status).toBe(200)
  await until(() => begun.reason !== null)
  // The other one goes on with the frames that come.
  client.send(videoFrame(40))
  await until(() => added.frames.some(({ decodeTimeUs }) => decodeTimeUs > 0))
  expect((await set([{ ...other, enabled: false }])).status).toBe(200)
  await until(() => added.reason !== null)
  await eventually(async () => expect(await states()).toEqual(['second off']))

  expect((await set([one])).status).toBe(200)
  const again = await until(() => first.publications[1] ?? false)
  // The target has the publication before the sender has its answer, which makes it live.
  await eventually(async () => expect(await states()).toEqual(['first live']))
  expect((await here.call('DELETE', `/api/publish_token/${id}`)).status).toBe(200)
  await until(() => again.reason !== null)
  await until(() => there.app.ctx.sessions.feeds.all().length === 0)
  expect([first.publications.length, second.publications.length]).toEqual([2, 1])

  const path = '/api/streams/show/restream-events?limit=100'
  const events = async (): Promise<{ label: string; index: number; status: string }[]> =>
    (await here.call('GET', path)).json.data
  await eventually(async () => {
    const of = async (name: string) =>
      (await events())
        .filter(({ label }) => label === name)
        .map(({ index, status }) => `${index} ${status}`)
        .toReversed()
    expect(await of('first')).toEqual(['0 connecting', '0 live', '0 off', '0 connecting', '0 live', '0 off'])
    // It has gone on as the first of the list.
    expect(await of('second')).toEqual(['1 connecting', '1 live', '1 off', '0 live', '0 off'])
  })
})

test('targets of an engine go with it to the node of its publisher: they end at the one and are dialled at the other, once each', async () => {
  const authorization = await credential(nodes[0], 'write')
  const v2 = async (path: string, body: object = {}) =>
    (await nodes[0].call('POST', `/v2${path}`, body, { authorization })).json?.data
  const target = await listenFor()
  const { id: abrLadderId } = await v2('/abr', { name: 'tiny', video: [{ width: 96, height: 54, bitrate: 100_000 }] })
  const engines = [{ name: 'Main', quality: { abrLadderId }, restream: [targetOf(target, 'engine')] }]
  const {
    id,
    ingests,
    engines: made,
  } = await v2('/channels', {
    name: 'Stage',
    ingests: [{ name: 'Camera', type: 'rtmp-push', engines }],
  })
  await v2(`/channels/${id}/start`)
  const pushAt = (at: 0 | 1) => pushTo(`rtmp://127.0.0.1:${nodes[at].rtmpPort}/live/${ingests[0].streamKey}`)
  const nodeOfEngine = async () => {
    const state = await nodes[0].app.ctx.store.read.engineStates.get(made[0].id)
    return nodes.findIndex(({ dataDir }) => state?.node?.startsWith(`${hostKeyOf(dataDir)}#`))
  }
  const takes = (publication: RtmpPublication) => until(() => publication.frames.length > 25)
  pushAt(0)
  const first = await publicationOf(target)
  await takes(first)
  expect([first.reason, await nodeOfEngine()]).toEqual([null, 0])
  pushAt(1)
  const second = await until(() => {
    // Never two of them: a service would refuse the second one, or cut the first.
    expect(target.publications.filter(({ reason }) => reason === null).length).toBeLessThan(2)
    return target.publications[1] ?? false
  })
  await takes(second)
  expect(await nodeOfEngine()).toBe(1)
  await v2(`/channels/${id}/stop`)
  await until(() => second.reason !== null)
  expect(target.publications.map(({ reason }) => reason)).toEqual(['left', 'left'])
  await target.stop()
})

/** Another node, as a process. */
async function nodeProcess(dataDir: string): Promise<Served & { rtmpPort: number }> {
  const server = await serve(['--data', dataDir], {
    SLUICE_STORAGE_URL: place.url,
    SLUICE_SECRETS_SEALING_KEY: SEALING_KEY,
    SLUICE_SESSIONS_LEASE_SECONDS: '5',
    SLUICE_MEDIA_ALLOWED_NETWORKS: '127.0.0.0/8',
    SLUICE_WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true',
  })
  const taking = await until(() => server.log().match(/^.*"taking RTMP".*$/m))
  return { ...server, rtmpPort: (JSON.parse(taking[0]) as { port: number }).port }
}

test('a broadcast and its targets end when their node is killed, once each, for webhooks and on record, also when it starts again', async () => {
  const [, here] = nodes
  const hooks = await receiveEvents()
  const [taking, refusing] = [await listenFor(), await listenFor({}, () => 'NetStream.Publish.BadName')]
  const hook = { url: hooks.url, isFeedHooks: true, isRestreamHooks: true }
  expect((await here.call('POST', '/api/webhooks', hook)).status).toBe(200)
  const restream = [targetOf(taking, 'taking'), targetOf(refusing, 'refusing')]
  const { token } = await makeToken(here, 'publish', { restream })
  const dataDir = newDirectory()
  const killed = await nodeProcess(dataDir)
  const publisher = await RtmpClient.open(killed.rtmpPort)
  await publisher.publish('v2/pub', `killed?token=${token}`)
  publisher.send(avcConfig(), aacConfig(), videoFrame(0), audioFrame(10))
  const told = () =>
    hooks.received.map(({ name, data }) => `${name} ${String(data['label'] ?? data['name'])}`).toSorted()
  const begun = ['feeds started killed', 'restream error refusing', 'restream started taking']
  await eventually(() => expect(told()).toEqual(begun))

  killed.signal('SIGKILL')
  await killed.ended
  const ends = ['feeds ended killed', 'restream ended taking']
  await eventually(() => expect(told()).toEqual([...begun, ...ends].toSorted()))
  const again = await nodeProcess(dataDir)
  const next = await RtmpClient.open(again.rtmpPort)
  await next.publish('v2/pub', `killed?token=${token}`)
  next.send(avcConfig(), aacConfig(), videoFrame(0), audioFrame(10))
  // What a node sent twice would have come before.
  await eventually(() => expect(told()).toEqual([...begun, ...begun, ...ends].toSorted()))

  const record = async (path: string) => (await here.call('GET', `/api/streams/killed/${path}`)).json.data
  const targets = ((await record('restream-events?limit=100')) as { label: string; status: string }[]).toReversed()
  const statusesOf = (name: string) => targets.filter(({ label }) => label === name).map(({ status }) => status)
  expect(statusesOf('taking')).toEqual(['connecting', 'live', 'off', 'connecting', 'live'])
  expect(statusesOf('refusing').filter((status) => status === 'off')).toHaveLength(1)
  expect(await record('broadcasts')).toHaveLength(1)
  hooks.close()
  for (const one of [taking, refusing]) await one.stop()
})
