/**
 * How long a publisher waits from its first RTMP packet to channel status `playing`, with a ladder of two small
 * renditions, so that the machine's speed matters little. A segment lasts two seconds, which is the floor.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { type ChannelsClient, runChannels } from '../test/support/channelsClient.ts'
import { median } from './lib/report.ts'

const RUNS = 5
const SEGMENT_MS = 2000
const PATIENCE_MS = 30_000
const LOOK_EVERY_MS = 25
const LADDER = {
  name: 'small',
  video: [
    { width: 320, height: 180, bitrate: 300_000 },
    { width: 160, height: 90, bitrate: 100_000 },
  ],
}

const live = await runChannels({ flags: { rtmp: { port: 0 } } })
try {
  const ladder = await live.made('POST', '/abr', LADDER)
  const times: number[] = []
  for (let run = 0; run < RUNS; run++) times.push(await oneRun(ladder.id))
  const seconds = (value: number): string => (value / 1000).toFixed(2)
  const middle = median(times)
  const ratio = (middle / SEGMENT_MS).toFixed(2)
  console.log(`first RTMP packet to playing: p50 ${seconds(middle)} s of ${times.map(seconds).join(', ')}`)
  console.log(`${ratio} of the 2 s that the first segment lasts`)
} finally {
  await live.close()
}

async function oneRun(abrLadderId: string): Promise<number> {
  const { id, ingests } = await live.made('POST', '/channels', {
    name: 'bench',
    ingests: [{ name: 'i', type: 'rtmp-push', engines: [{ name: 'e', quality: { abrLadderId } }] }],
  })
  await live.v2('POST', `/channels/${id}/start`)
  await reached(live, id, 'waiting')
  const relay = await firstPacketAt(live.running.rtmpPort ?? 0)
  const publisher = push(`rtmp://127.0.0.1:${relay.port}/live/${ingests[0].streamKey}`)
  try {
    const began = await relay.firstPacket
    await reached(live, id, 'playing')
    return performance.now() - began
  } finally {
    publisher.kill('SIGKILL')
    relay.close()
    await live.v2('POST', `/channels/${id}/stop`)
  }
}

async function reached(client: ChannelsClient, channelId: string, status: string): Promise<void> {
  const until = performance.now() + PATIENCE_MS
  while ((await client.v2('GET', `/channels/${channelId}`)).json.data.status !== status) {
    if (performance.now() > until) throw new Error(`the channel did not get to ${status}`)
    await delay(LOOK_EVERY_MS)
  }
}

/** A relay in front of the RTMP port, which notes when the publisher sends its first bytes. */
async function firstPacketAt(rtmpPort: number): Promise<{ port: number; firstPacket: Promise<number>; close(): void }> {
  const { promise: firstPacket, resolve } = Promise.withResolvers<number>()
  const server = createServer((publisher) => {
    const sluice = connect({ host: '127.0.0.1', port: rtmpPort, noDelay: true })
    publisher.once('data', () => resolve(performance.now()))
    for (const socket of [publisher, sluice]) socket.on('error', () => undefined)
    publisher.pipe(sluice).pipe(publisher)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('no port')
  return { port: address.port, firstPacket, close: () => void server.close() }
}

/** With the usual setting of publishers: a keyframe per second. */
function push(url: string): ChildProcess {
  const source = '-v error -re -f lavfi -i testsrc2=size=640x360:rate=25 -re -f lavfi -i sine=frequency=440'
  const video = '-c:v libx264 -preset ultrafast -tune zerolatency -g 25 -pix_fmt yuv420p'
  const words = `${source} ${video} -c:a aac -ar 48000 -f flv`.split(' ')
  return spawn('ffmpeg', [...words, url], { stdio: ['ignore', 'ignore', 'inherit'] })
}
