import { afterAll, beforeAll, expect, test } from 'vitest'
import { hostKeyOf } from '../../src/config/dataDirectory.ts'
import { encoded } from '../media/ffmpeg/frames.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { broadcast } from '../support/broadcast.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'
import { type EventReceiver, receiveEvents } from '../support/eventReceiver.ts'
import { follow, mediaPlaylist } from '../support/hlsFollower.ts'
import { ownPort } from '../support/ownPort.ts'
import { newPlace, type Place } from '../support/place.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'

let place: Place
/** Drains. */
let leaving: ChannelsClient
let next: ChannelsClient
/** Sends its broadcast on to the others, as a publisher that follows requests to connect again. */
let source: RunningApp
let events: EventReceiver

beforeAll(async () => {
  place = await newPlace('PostgreSQL')
  leaving = await node()
  next = await node()
  source = await runApp({ flags: { media: { allowedNetworks: ['127.0.0.0/8'] } } })
  events = await receiveEvents()
})
afterAll(async () => {
  events.close()
  for (const one of [source, leaving, next]) await one.close()
  await place.remove()
})

/** Each takes RTMP on a port of its own. */
async function node(): Promise<ChannelsClient> {
  const [port, rtmpPort] = [await ownPort(), await ownPort()]
  const flags = {
    storage: { url: place.url },
    secrets: { sealingKey: SEALING_KEY },
    server: { port, nodeUrl: `http://127.0.0.1:${port}`, drainSeconds: 30 },
    rtmp: { port: rtmpPort },
    webhooks: { allowPrivateTargets: true },
  }
  return runChannels({ flags })
}

async function newChannel(): Promise<{ streamKey: string; engineId: string }> {
  const { id: abrLadderId } = await next.made('POST', '/abr', {
    name: 'tiny',
    video: [{ width: 96, height: 54, bitrate: 100_000 }],
  })
  const engines = [{ name: 'Main', quality: { abrLadderId } }]
  const ingests = [{ name: 'Camera', type: 'rtmp-push', engines }]
  const channel = await next.made('POST', '/channels', { name: 'Stage', ingests })
  await next.v2('POST', `/channels/${channel.id}/start`)
  return { streamKey: channel.ingests[0].streamKey, engineId: channel.engines[0].id }
}

const feedsAt = ({ running }: ChannelsClient) =>
  running.app.ctx.sessions.feeds.all().map(({ streamName }) => streamName)

test('a node that drains asks publishers of streams and channels to connect to another one, and they do', async () => {
  const { token } = await makeToken(next.running, 'publish')
  const subscribed = await next.running.call('POST', '/api/webhooks', { url: events.url, isFeedHooks: true })
  expect(subscribed.status).toBe(200)
  const { streamKey, engineId } = await newChannel()
  const at = `rtmp://127.0.0.1:${leaving.running.rtmpPort}`
  const restream = [
    { url: `${at}/v2/pub`, key: `show?token=${token}` },
    { url: `${at}/live`, key: streamKey },
  ]
  const recorded = await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25, size: '320x180' })
  await broadcast(source, recorded, { streamName: 'camera', speed: 1, token: { restream } })

  const { read } = next.running.app.ctx.store
  const engine = () => read.engines.get(next.running.accountId, engineId)
  const nodeOfEngine = async () => (await read.engineStates.get(engineId))?.node ?? ''
  const isAt = async ({ running }: ChannelsClient) =>
    (await nodeOfEngine()).startsWith(`${hostKeyOf(running.dataDir)}#`) && (await engine())?.status === 'playing'
  await until(() => isAt(leaving))
  const remote = () => next.running.app.ctx.sessions.feeds.remote(next.running.accountId, 'show', null)
  await until(remote)
  const player = follow(await mediaPlaylist(next.running, 'show'))
  // A target that moves after a shorter time has failed: it could go on for ever.
  const states = async () => (await source.call('GET', '/api/streams/live')).json.data[0].restreams
  await until(async () => (await states()).every(({ liveSeconds }: { liveSeconds: number }) => liveSeconds >= 10))

  expect((await next.running.call('POST', `/api/nodes/${leaving.running.app.ctx.sessions.node}/drain`)).status).toBe(
    200,
  )
  await until(() => feedsAt(next).includes('show'))
  await until(() => isAt(next))
  await leaving.running.drained
  expect(feedsAt(leaving)).toEqual([])
  const moved = next.running.app.ctx.sessions.feeds.all()[0]?.feedId
  await until(() => player.seen.at(-1)?.stream === moved)
  await player.end()
  expect(player.seen.filter(({ status, isOver }) => status !== 200 || isOver)).toEqual([])

  // Nothing failed on the way, neither here nor there.
  const path = '/api/streams/camera/restream-events?limit=100'
  const changes: { index: number; status: string }[] = (await source.call('GET', path)).json.data.toReversed()
  for (const index of [0, 1]) {
    const own = changes.filter((change) => change.index === index).map(({ status }) => status)
    expect(own).toEqual(['connecting', 'live', 'connecting', 'live'])
  }
  const names = () => events.received.map(({ name, data }) => `${name} ${String(data['feedId'])}`)
  await until(() => names().length >= 3)
  const [first] = names()
  expect(first).toMatch(/^feeds started/)
  const before = first?.split(' ')[2]
  expect(new Set(names())).toEqual(new Set([`feeds ended ${before}`, first, `feeds started ${moved}`]))
  expect(names()).toHaveLength(3)
  const runs = await read.runs.page({ engineId, limit: 10 })
  expect(runs.map(({ endedAtMs }) => endedAtMs)).toEqual([null])
})
