import type { ChildProcess } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Stage } from '../../test/e2e/sluice.ts'
import { film, push, type Scene } from './videos.ts'
import { watchHls } from './viewers.ts'

/** What the pages show: ids for their addresses. */
export interface Show {
  readonly mainToken: number
  readonly channelId: string
  readonly webhookId: number
  stop: () => Promise<void>
}

interface OnAir {
  readonly scene: Scene
  readonly stream: string
  readonly kbits: number
  readonly viewers: number
  readonly token: object
}

/** In seconds. */
const days = (count: number): number => count * 86_400
const only = (streamName: string) => [{ streamName }]

const STREAMS: readonly OnAir[] = [
  {
    scene: 'concert',
    stream: 'main-stage',
    kbits: 4200,
    viewers: 14,
    token: {
      label: 'Main stage, Saturday',
      subscribeRequiresAuth: true,
      record: true,
      enableThumbnails: true,
    },
  },
  {
    scene: 'harbour',
    stream: 'harbour-cam',
    kbits: 1800,
    viewers: 6,
    token: { label: 'Harbour camera', enableThumbnails: true },
  },
  {
    scene: 'match',
    stream: 'u19-match',
    kbits: 3100,
    viewers: 9,
    token: { label: 'U19, west pitch', enableThumbnails: true },
  },
  {
    scene: 'talk',
    stream: 'morning-talk',
    kbits: 1200,
    viewers: 3,
    token: { label: 'Morning talk', enableThumbnails: true },
  },
]

/** Tokens that nothing uses now. */
const OTHERS: readonly object[] = [
  {
    label: 'Studio B',
    streams: only('studio-b'),
    allowedOrigins: ['studio.riverside.example'],
    allowedIpAddresses: ['198.51.100.0/24'],
  },
  { label: 'Guest cameras', streams: [{ streamName: 'guest-[0-9]+', isRegex: true }], expires: days(3) },
  { label: 'Drone', streams: only('drone'), bindIpsOnUsage: 1 },
  { label: 'Rehearsal', streams: only('rehearsal') },
  { label: 'Festival 2025', streams: [{ streamName: 'festival-.*', isRegex: true }], expires: days(60) },
]

/** Puts a small station on the air: streams with viewers, refusals, webhooks with deliveries, and a channel with runs. */
export async function putOnShow(stage: Stage, folder: string): Promise<Show> {
  const leaving = new AbortController()
  const publishers: ChildProcess[] = []
  const receiver = await receive()
  const webhookId = await makeWebhooks(stage, receiver)
  const files = new Map<Scene, string>()
  for (const { scene, kbits } of STREAMS) files.set(scene, await film(stage.browser, folder, scene, kbits))
  const ids: number[] = []
  for (const { scene, stream, token } of STREAMS) {
    const made = await stage.token('publish', { streams: only(stream), ...token })
    ids.push(made.id)
    publishers.push(push(files.get(scene) ?? '', stage.rtmp(stream, made.token)))
  }
  for (const token of OTHERS) await stage.token('publish', token)
  await refuse(stage)
  await stage.token('subscribe', { label: 'Partner station', streams: only('main-stage'), expires: days(5) })
  const viewer = await stage.token('subscribe', {
    label: 'Website',
    streams: [{ streamName: '.*', isRegex: true }],
    tracking: { trackingId: 'website' },
  })
  await until(async () => ((await stage.api('GET', '/api/streams/live')).data as unknown[]).length === STREAMS.length)
  for (const [at, { stream, viewers }] of STREAMS.entries())
    watchHls(`${stage.hls(stream)}?auth=${viewer.token}`, addresses(at, viewers), leaving.signal)
  const channel = await runChannel(stage, files.get('match') ?? '')
  publishers.push(channel.publisher)
  return {
    mainToken: ids[0] ?? 1,
    channelId: channel.id,
    webhookId,
    async stop(): Promise<void> {
      leaving.abort()
      for (const publisher of publishers) publisher.kill('SIGKILL')
      await new Promise((resolve) => receiver.close(resolve))
    },
  }
}

const addresses = (block: number, count: number): string[] =>
  Array.from({ length: count }, (_, at) => `203.0.113.${10 + block * 40 + at}`)

export async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 900; tries++) {
    if (await isTrue()) return
    await delay(100)
  }
  throw new Error('waited for a minute and a half in vain')
}

/** A server of an integrator: now and then it is too busy. */
async function receive(): Promise<Server> {
  let count = 0
  const server = createServer((request, response) => {
    request.resume()
    count += 1
    response.writeHead(count % 5 === 3 ? 503 : 200).end(count % 5 === 3 ? 'try again later' : 'ok')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

async function makeWebhooks(stage: Stage, receiver: Server): Promise<number> {
  const { port } = receiver.address() as AddressInfo
  const all = { isFeedHooks: true, isMediaHooks: true, isViewerConnectionHooks: true }
  const { data } = await stage.api('POST', '/api/webhooks', { url: `http://127.0.0.1:${port}/sluice`, ...all })
  await stage.api('POST', '/api/webhooks', { url: 'https://chat.riverside.example/live', isFeedHooks: true })
  return (data as { id: number }).id
}

/** Clients that the server turns away, for different reasons. */
async function refuse(stage: Stage): Promise<void> {
  const old = await stage.token('subscribe', { label: 'Old app', streams: only('main-stage') })
  await stage.api('PUT', `/api/subscribe_token/${old.id}`, { isActive: false })
  const site = await stage.token('subscribe', {
    label: 'Press',
    streams: only('main-stage'),
    allowedOrigins: ['press.example'],
  })
  const near = await stage.token('subscribe', {
    label: 'In the house',
    streams: only('main-stage'),
    allowedIpAddresses: ['192.0.2.0/24'],
  })
  const other = await stage.token('subscribe', { label: 'Second court', streams: only('court-2') })
  const attempts = ['not-a-token', old.token, site.token, near.token, other.token]
  const shares = [9, 7, 5, 3, 2]
  for (const [at, token] of attempts.entries())
    for (let count = 0; count < (shares[at] ?? 0); count++)
      await fetch(`${stage.hls('main-stage')}?auth=${token}`, {
        headers: { 'x-forwarded-for': `198.51.100.${20 + at * 11 + count}`, origin: 'https://mirror.example' },
      })
}

const LADDER = {
  name: 'Sports',
  video: [
    { width: 640, height: 360, bitrate: 800_000 },
    { width: 320, height: 180, bitrate: 250_000 },
  ],
}

interface Channel {
  readonly id: string
  readonly ingests: readonly { readonly streamKey: string }[]
}

async function runChannel(stage: Stage, file: string): Promise<{ id: string; publisher: ChildProcess }> {
  const ladder = (await stage.v2('POST', '/abr', LADDER)) as { id: string }
  const engines = [{ name: 'Main', quality: { abrLadderId: ladder.id } }]
  const channel = (await stage.v2('POST', '/channels', {
    name: 'Riverside Sports',
    ingests: [{ name: 'West pitch', type: 'rtmp-push', engines }],
    distributions: [{ name: 'Website' }],
  })) as Channel
  await stage.v2('POST', '/channels', {
    name: 'Town hall',
    ingests: [{ name: 'Council room', type: 'rtmp-push', engines }],
  })
  const url = stage.ingest(channel.ingests[0]?.streamKey ?? '')
  const isPlaying = async () =>
    ((await stage.v2('GET', `/channels/${channel.id}`)) as { status: string }).status === 'playing'
  for (const isLast of [false, true]) {
    await stage.v2('POST', `/channels/${channel.id}/start`)
    const publisher = push(file, url)
    await until(isPlaying)
    if (isLast) return { id: channel.id, publisher }
    await stage.v2('POST', `/channels/${channel.id}/stop`)
    publisher.kill('SIGKILL')
  }
  throw new Error('not reached')
}
