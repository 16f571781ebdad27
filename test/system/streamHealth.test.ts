import { createServer, connect, type Server, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type EncoderName, ENCODER_NAMES, ENCODERS, recordedBy } from '../support/encoders.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { ffmpegPublisher } from '../e2e/ffmpegPublisher.ts'
import { FastClock } from '../support/fastClock.ts'
import { lossyLink } from '../support/lossyUdp.ts'
import { RtmpPublisher } from '../support/rtmpPublisher.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'

/** The publishers and the server have the same clock, so that a slow machine makes no encoder bad. */
const clock = new FastClock()
let sluice: RunningApp
let token: string
const publishers: RtmpPublisher[] = []
const links: Server[] = []

beforeAll(async () => {
  sluice = await runApp({ clock })
  token = (await makeToken(sluice, 'publish')).token
})
afterEach(async () => {
  for (const publisher of publishers.splice(0)) publisher.end()
  for (const link of links.splice(0)) link.close()
  await until(() => sluice.app.ctx.sessions.size === 0)
})
afterAll(async () => {
  await sluice.close()
  clock.close()
})

const streamNameOf = (name: EncoderName): string => name.replaceAll(/[^a-z0-9]/gi, '-')

async function publish(name: EncoderName, port = sluice.rtmpPort): Promise<string> {
  const streamName = streamNameOf(name)
  const url = `rtmp://127.0.0.1:${port}/v2/pub/${streamName}?token=${token}`
  publishers.push(await RtmpPublisher.start(url, clock, recordedBy(name)))
  return streamName
}

/** A link that carries so many bits per second of the clock. Returns its port. */
async function slowLink(bitrate: number): Promise<number> {
  const sockets = new Set<Socket>()
  const link = createServer((near) => {
    const far = connect(sluice.rtmpPort ?? 0, '127.0.0.1')
    sockets.add(near).add(far)
    far.pipe(near)
    void carry(near, far, bitrate).catch(() => undefined)
    for (const socket of [near, far])
      socket.on('error', () => undefined).on('close', () => [near, far].map((one) => one.destroy()))
  })
  link.listen(0, '127.0.0.1')
  links.push(link)
  await once(link, 'listening')
  return (link.address() as AddressInfo).port
}

async function carry(near: Socket, far: Socket, bitrate: number): Promise<void> {
  for await (const chunk of near as AsyncIterable<Buffer>) {
    far.write(chunk)
    await clock.sleep((chunk.length * 8000) / bitrate)
  }
}

const health = async (streamName: string) =>
  (await sluice.call('GET', `/api/streams/${streamName}/health?history=false`)).json.data?.feeds?.[0]
const codesOf = async (streamName: string): Promise<string[]> =>
  ((await health(streamName))?.findings ?? []).map(({ code }: { code: string }) => code)

const bad = ENCODER_NAMES.filter((name) => ENCODERS[name].finding !== null && name !== '2 Mbit/s')
const good = ENCODER_NAMES.filter((name) => ENCODERS[name].finding === null)

/** ffmpeg sends with usual settings, in the time of the machine. */
describe('of a publisher over SRT', () => {
  test('the loss of its link is found, and the round trip measured', async () => {
    const own = await runApp()
    const made = await makeToken(own, 'publish')
    const link = await lossyLink(own.srtPort ?? 0, 28)
    const streamId = encodeURIComponent(`show?token=${made.token}`)
    const publisher = ffmpegPublisher(`srt://127.0.0.1:${link.port}?mode=caller&streamid=${streamId}`, '320x180')
    try {
      const feed = async () => (await own.call('GET', '/api/streams/show/health')).json.data?.feeds?.[0]
      await until(async () => (await feed())?.source.packetLoss !== undefined)
      expect((await feed()).source).toMatchObject({ packetLoss: 0, packetsGivenUp: 0, channels: 1 })
      expect((await feed()).source.roundTripMs).toBeGreaterThanOrEqual(0)
      link.lose(0.05)
      const codes = async () => (await feed()).findings.map(({ code }: { code: string }) => code)
      await until(async () => (await codes()).includes('packet_loss'))
    } finally {
      await publisher.stop()
      link.close()
      await own.close()
    }
  })
})

describe('of publishers over RTMP', () => {
  // Some at once: each looks at its own clock.
  test.each([bad.slice(0, 4), bad.slice(4, 8), bad.slice(8)].map((names) => [names.join(', '), names] as const))(
    'what is wrong is found: %s',
    async (_title, names) => {
      for (const name of names) await publish(name)
      for (const name of names)
        await until(
          async () => (await codesOf(streamNameOf(name))).includes(ENCODERS[name].finding ?? ''),
          `what ${name} is`,
        )
      const live = (await sluice.call('GET', '/api/streams/live?limit=100')).json.data
      for (const name of names) {
        const entry = live.find((one: { streamName: string }) => one.streamName === streamNameOf(name))
        expect(entry.health).toBe('impaired')
        const finding = entry.findings.find((one: { code: string }) => one.code === ENCODERS[name].finding)
        expect(finding).toMatchObject({
          text: expect.stringMatching(/\.$/),
          advice: expect.stringMatching(/In OBS|ffmpeg/),
        })
      }
      const attention = (await sluice.call('GET', '/api/attention')).json.data
      const kinds = attention.map(({ kind }: { kind: string }) => kind)
      expect(kinds).toContain('stream_impaired')
      const metrics = (await sluice.call('GET', '/metrics')).text
      for (const name of names)
        expect(metrics).toMatch(new RegExp(`sluice_feed_findings\\{code="${ENCODERS[name].finding}"\\} [1-9]`))
    },
  )

  test('nothing is found in a minute of good ones', async () => {
    const names = await Promise.all(good.map((name) => publish(name)))
    const began = clock.monotonic()
    const seen = new Set<string>()
    await until(async () => {
      for (const name of names) for (const code of await codesOf(name)) seen.add(`${name} ${code}`)
      return clock.monotonic() - began > 60_000
    })
    expect([...seen]).toEqual([])
    const feed = await health(streamNameOf('good'))
    expect(feed).toMatchObject({
      protocol: 'rtmp',
      health: 'steady',
      source: {
        videoProfile: 'Constrained Baseline',
        declaredFrameRate: 25,
        sampleRate: 48_000,
        channels: 1,
        bFrames: 0,
      },
    })
  })

  test('a link that is too slow is found', async () => {
    const streamName = await publish('2 Mbit/s', await slowLink(1_000_000))
    await until(async () => (await codesOf(streamName)).includes('link_slow'))
    expect((await health(streamName)).source.behindMs).toBeGreaterThan(1500)
  })

  test('a stream that is off the air has no health, and a name that is none is refused', async () => {
    expect((await sluice.call('GET', '/api/streams/nothing/health')).status).toBe(404)
    expect((await sluice.call('GET', '/api/streams/a%00b/health')).status).toBe(400)
  })
})
