import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { encoded } from '../media/ffmpeg/frames.ts'
import { enhancedMessages } from '../media/rtmp/enhanced.ts'
import { avcConfig, videoFrame } from '../media/rtmp/media.ts'
import { RtmpClient } from '../media/rtmp/client.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { clipFile } from '../support/clips.ts'
import { LOOPBACK, TestViewer } from '../support/rtcPeer.ts'
import { RtmpPublisher } from '../support/rtmpPublisher.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'
import { offerTo } from '../support/webrtcNodes.ts'

let sluice: RunningApp
const ends: (() => unknown)[] = []

beforeAll(async () => {
  sluice = await runApp({ flags: { webrtc: { host: '127.0.0.1', port: 0, processes: 1 } } })
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  await until(() => live().size === 0)
})
afterAll(() => sluice.close())

const live = () => sluice.app.ctx.sessions
const HIGH = '640x360'
const LOW = '320x180'

/** A publisher. The result disconnects it. */
type Way = (parameters: string, size: string) => Promise<() => unknown>

const overRtmp: Way = async (parameters, size) => {
  const recorded = await encoded({ video: 'h264', audio: 'aac', seconds: 4, size, gop: 25 })
  const url = `rtmp://127.0.0.1:${sluice.rtmpPort}/v2/pub/show?${parameters}`
  const publisher = await RtmpPublisher.start(url, systemClock, enhancedMessages(recorded))
  return () => publisher.end()
}

const overSrt: Way = async (parameters, size) => {
  const source =
    `-f lavfi -i testsrc2=size=${size}:rate=25:duration=4 -f lavfi -i sine=frequency=440:sample_rate=48000:duration=4 ` +
    '-c:v libx264 -preset veryfast -g 25 -bf 0 -c:a aac -ac 2 -f mpegts'
  const input = ['-re', '-stream_loop', '-1', '-f', 'mpegts', '-i', clipFile(source, 'ts')]
  const url = `srt://127.0.0.1:${sluice.srtPort}?streamid=${encodeURIComponent(`show?${parameters}`)}`
  const args = ['-v', 'error', ...input, '-c', 'copy', '-f', 'mpegts', url]
  const child = spawn('ffmpeg', args, { stdio: 'ignore' })
  return async () => {
    const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : null
    child.kill('SIGTERM')
    await ended
  }
}

async function published(way: Way, parameters: string, size: string): Promise<() => unknown> {
  const end = await way(parameters, size)
  ends.push(end)
  return end
}

interface Layers {
  readonly layers: readonly { readonly encodingId: string; readonly width: number; readonly bitrate: number }[]
  readonly sent: string | null
}

/** A viewer over WHEP, with what it is sent. */
async function watch() {
  const viewer = new TestViewer('h264', LOOPBACK)
  ends.push(() => viewer.close())
  const offer = await viewer.offer()
  const answer = await until(async () => {
    const one = await offerTo(`${sluice.base}/api/whep/${sluice.accountId}/show`, '', offer)
    return one.status === 201 && one
  })
  await viewer.accept(await answer.text())
  const link = /<([^>]+)>; rel="urn:ietf:params:whep:ext:core:layer"/.exec(answer.headers.get('link') ?? '')?.[1]
  const address = new URL(link ?? '', sluice.base)
  const look = async () => (await (await fetch(address)).json()) as Layers
  const names = async () => (await look()).layers.map(({ encodingId }) => encodingId)
  const choose = async (encodingId: string) => {
    const headers = { 'content-type': 'application/json' }
    expect((await fetch(address, { method: 'POST', headers, body: JSON.stringify({ encodingId }) })).status).toBe(200)
    await until(async () => (await look()).sent === encodingId)
    await viewer.gets()
  }
  return { viewer, look, names, choose }
}

/** The times of what a viewer got, from each picture to the next, milliseconds. */
function stepsOf({ packets }: TestViewer): number[] {
  const times = packets
    .toSorted((a, b) => ((a.header.sequenceNumber - b.header.sequenceNumber) << 16) >> 16)
    .map(({ header }) => header.timestamp)
  return times.slice(1).flatMap((time, at) => {
    const step = ((time - (times[at] ?? 0)) | 0) / 90
    return step === 0 ? [] : [step]
  })
}

/** The streams of an address or file, as ffprobe sees them. */
async function probed(url: string, options: readonly string[] = []): Promise<string> {
  const args = ['-v', 'error', ...options, '-show_entries', 'stream=codec_name,width', '-of', 'csv=p=0', url]
  return (await promisify(execFile)('ffprobe', args)).stdout.trim().replaceAll('\n', ' ')
}

const listed = async () => {
  const { json } = await sluice.call('GET', '/api/sessions?action=publish')
  return (json.data as { layer?: string; sourceId?: string; shown?: boolean }[])
    .map(({ layer, sourceId, shown }) => ({ layer, sourceId, shown }))
    .toSorted((a, b) => (a.layer ?? '').localeCompare(b.layer ?? ''))
}

/** The main one, and another one before it: the tokens of both, and the end of the main one. */
async function bothPublish(mainWay: Way, otherWay: Way) {
  const [main, other] = [await makeToken(sluice, 'publish'), await makeToken(sluice, 'publish')]
  await published(otherWay, `token=${other.token}&simulcastId&sourceId=low&videoOnly`, LOW)
  // The clocks of both begin with themselves, so they are three seconds apart.
  await until(() => (live().all()[0]?.media?.frames ?? 0) > 75)
  expect(live().feeds.all()).toEqual([])
  const end = await published(mainWay, `token=${main.token}&simulcastId&sourceId=high&record`, HIGH)
  await until(() => live().feeds.all().length === 1)
  return { main, other, end }
}

test.each([
  ['RTMP', overRtmp, overRtmp],
  ['SRT', overSrt, overSrt],
  ['SRT beside RTMP', overRtmp, overSrt],
])(
  'publishers of one source over %s are its layers, between which viewers change without a jump, and end by themselves',
  async (_, mainWay, otherWay) => {
    const { main, other } = await bothPublish(mainWay, otherWay)
    const { viewer, look, names, choose } = await watch()
    // Bitrates are measured, and sizes are read from keyframes.
    await until(async () => (await look()).layers.filter(({ bitrate, width }) => bitrate > 0 && width > 0).length === 2)
    expect((await look()).layers).toMatchObject([
      { encodingId: 'high', width: 640 },
      { encodingId: 'low', width: 320 },
    ])
    for (const layer of ['low', 'high', 'low']) await choose(layer)
    // A publisher that this machine lets wait is late, and the other one may be in time.
    expect(stepsOf(viewer).filter((ms) => ms <= 0 || ms > 1000)).toEqual([])
    expect(await listed()).toEqual([
      { layer: 'high', sourceId: undefined, shown: true },
      { layer: 'low', sourceId: undefined, shown: undefined },
    ])
    expect(live().feeds.all()).toMatchObject([{ sourceId: null, tokenId: main.id }])

    expect((await sluice.call('DELETE', `/api/publish_token/${other.id}`)).status).toBe(200)
    await until(async () => (await names()).join() === 'high')
    await until(async () => (await look()).sent === 'high')
    await viewer.gets()
    expect([live().feeds.all().length, live().spares.size]).toEqual([1, 0])
  },
)

test('HLS, the recording and hosted lists have the main publisher alone', async () => {
  const { end } = await bothPublish(overRtmp, overRtmp)
  const master = `${sluice.base}/hls/${sluice.accountId}/show/index.m3u8`
  await until(async () => (await (await fetch(master)).text()).includes('RESOLUTION=640x360'))
  expect(await probed(master)).toContain('h264,640')
  const { feeds } = (await sluice.call('GET', '/api/monitoring/streams/show')).json.data
  expect(feeds.at(-1)).toMatchObject({ active: true, simulcastId: '' })
  await end()
  await until(() => live().feeds.all().length === 0)
  await until(async () => (await listed()).map(({ layer }) => layer).join() === 'low')
  const recording = async () => (await sluice.call('GET', '/api/recordings?limit=1')).json.data[0]
  await until(async () => (await recording())?.state === 'completed')
  const login = ['-headers', `authorization: Bearer ${sluice.secret}\r\n`]
  expect(await probed(sluice.base + (await recording()).url, login)).toBe('h264,640 aac')
})

describe('a publisher of a layer', () => {
  /** One that sends a picture each time it is called. */
  async function client(parameters: string) {
    const { token } = await makeToken(sluice, 'publish', { multisource: true })
    const one = await RtmpClient.open(sluice.rtmpPort ?? 0)
    ends.push(() => one.socket.destroy())
    await one.publish('v2/pub', `show?token=${token}&${parameters}`)
    one.send(avcConfig())
    let at = 0
    return { one, send: () => one.send(videoFrame((at += 40))) }
  }
  test('waits for the main one, goes on without it, and is there when it comes back', async () => {
    const low = await client('simulcastId=stage&sourceId=low&videoOnly')
    for (const _ of [1, 2]) {
      const high = await client('simulcastId=stage&sourceId=high')
      await until(() => {
        low.send()
        high.send()
        return live().feeds.all().length === 1
      })
      expect(live().feeds.all()).toMatchObject([{ streamName: 'show', sourceId: 'stage' }])
      high.one.socket.destroy()
      await until(() => live().feeds.all().length === 0)
    }
    expect(live().size).toBe(1)
  })

  test('reads why it is refused or replaced', async () => {
    const high = await client('simulcastId&sourceId=1')
    await until(() => {
      high.send()
      return live().feeds.all().length === 1
    })
    const same = await client('simulcastId&sourceId=1&videoOnly')
    same.send()
    expect((await same.one.status('NetStream.Publish.Denied')).description).toBe(
      'The main publisher has the same sourceId: give each layer its own',
    )
    const older = await client('simulcastId&sourceId=2&videoOnly')
    older.send()
    // Its media has come: nothing orders what two connections send.
    const haveMedia = () =>
      live()
        .all()
        .every(({ media }) => (media?.tracks.length ?? 0) > 0)
    await until(() => live().size === 2 && haveMedia())
    const newer = await client('simulcastId&sourceId=2&videoOnly')
    newer.send()
    expect((await older.one.status('NetStream.Publish.Denied')).description).toContain('Replaced by')
    await until(() => live().size === 2)
  })
})
