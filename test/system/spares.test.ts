import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { readMediaPlaylist } from '../hls/playlist.ts'
import { recordingOf } from '../hls/sources.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { TestPublisher, TestViewer } from '../support/rtcPeer.ts'
import { RtmpPublisher } from '../support/rtmpPublisher.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'

let sluice: RunningApp
let token: string
const open: { close(): unknown }[] = []

beforeAll(async () => {
  sluice = await runApp({ flags: { webrtc: { host: '127.0.0.1', port: 0 } } })
  token = (await makeToken(sluice, 'publish')).token
})
afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
  await sluice.call('POST', '/api/stream/stop/all')
  await until(() => sessions().size === 0)
})
afterAll(() => sluice.close())

const sessions = () => sluice.app.ctx.sessions
type Way = 'rtmp' | 'srt'

function addressOf(priority: number, way: Way = 'rtmp'): string {
  if (way === 'rtmp') return `rtmp://127.0.0.1:${sluice.rtmpPort}/v2/pub/show?token=${token}&priority=${priority}`
  const streamId = `show?token=${token}&priority=${priority}`
  return `srt://127.0.0.1:${sluice.srtPort}?streamid=${encodeURIComponent(streamId)}`
}

/** The priority of the publisher on the air; null: there is none. */
function shown(): number | null {
  const [feed] = sessions().feeds.all()
  return feed === undefined ? null : (sessions().get(feed.sessionId)?.standing?.priority ?? null)
}

/** How many publishers are connected and send media. */
const publishing = () => sessions().feeds.all().length + sessions().spares.size

/** ffmpeg, with a keyframe each half second. */
function ffmpeg(priority: number, way: Way = 'rtmp'): ChildProcess {
  const source = ['-re', '-f', 'lavfi', '-i', 'testsrc2=s=160x120:r=25']
  const codec = ['-c:v', 'libx264', '-preset', 'ultrafast', '-tune', 'zerolatency', '-g', '12', '-threads', '1']
  const format = way === 'rtmp' ? 'flv' : 'mpegts'
  const argv = ['-v', 'error', '-nostdin', ...source, ...codec, '-f', format, addressOf(priority, way)]
  const child = spawn('ffmpeg', argv, { stdio: 'ignore' })
  open.push({
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  })
  return child
}

/** A viewer over WHEP that has got packets. */
async function watch(codec: 'vp8' | 'h264'): Promise<TestViewer> {
  const viewer = new TestViewer(codec)
  open.push(viewer)
  const body = await viewer.offer()
  const headers = { 'content-type': 'application/sdp' }
  const path = `${sluice.base}/api/whep/${sluice.accountId}/show`
  const answer = await fetch(path, { method: 'POST', headers, body })
  expect(answer.status).toBe(201)
  await viewer.accept(await answer.text())
  await goesOn(viewer)
  return viewer
}

async function goesOn(viewer: TestViewer): Promise<void> {
  const enough = viewer.packets.length + 20
  await until(() => viewer.packets.length >= enough)
}

/** Where the playlist of the stream is; null while it is not on the air. */
async function playlistUrl(): Promise<URL | null> {
  const url = `${sluice.base}/hls/${sluice.accountId}/show/index.m3u8`
  const master = await fetch(url)
  const [media = ''] = /^[^#\s]+$/m.exec(await master.text()) ?? []
  return master.ok ? new URL(media, url) : null
}

/** How many discontinuities the HLS of the stream has had; null while it has no segment. */
async function discontinuities(): Promise<number | null> {
  const url = await playlistUrl()
  if (url === null) return null
  const { discontinuitySequence, segments } = readMediaPlaylist(await (await fetch(url)).text())
  return segments.length === 0 ? null : (segments.at(-1)?.discontinuityNumber ?? discontinuitySequence)
}

/** The number of the first segment's period: streams do not begin to count at 0. */
const begunPeriod = () => until(discontinuities)
const untilPeriod = (number: number) => until(async () => (await discontinuities()) === number)

/** A publisher on the air, a spare of it, and a viewer. */
async function beginWithSpare(way: Way) {
  const main = ffmpeg(2, way)
  await until(() => shown() === 2)
  ffmpeg(1, way)
  await until(() => publishing() === 2)
  const viewer = await watch('h264')
  return { main, viewer, period: await begunPeriod() }
}

/** The publisher of this priority is on the air, and viewers go on over WHEP and HLS. */
async function takesOver(priority: number, viewer: TestViewer, period: number): Promise<void> {
  await until(() => shown() === priority)
  await goesOn(viewer)
  await untilPeriod(period)
}

test.each<Way>(['rtmp', 'srt'])(
  'viewers go on when a publisher over %s is killed and back within a moment',
  async (way) => {
    const killed = ffmpeg(1, way)
    await until(() => shown() === 1)
    const viewer = await watch('h264')
    const period = await begunPeriod()
    const mediaUrl = await until(playlistUrl)
    killed.kill('SIGKILL')
    await once(killed, 'exit')
    ffmpeg(1, way)
    await takesOver(1, viewer, period + 1)
    const { ended, segments } = readMediaPlaylist(await (await fetch(mediaUrl)).text())
    expect([ended, segments.at(-1)?.discontinuityNumber]).toEqual([false, period + 1])
  },
)

describe('a spare takes over, and viewers go on, from a publisher', () => {
  test.each<Way>(['rtmp', 'srt'])('over %s that is killed, and gives the air back when it returns', async (way) => {
    const { main, viewer, period } = await beginWithSpare(way)
    main.kill('SIGKILL')
    await takesOver(1, viewer, period + 1)
    ffmpeg(2, way)
    await takesOver(2, viewer, period + 2)
    expect(publishing()).toBe(2)
  })

  test.each<Way>(['rtmp', 'srt'])('over %s that is silent on an open connection', async (way) => {
    const { main, viewer, period } = await beginWithSpare(way)
    main.kill('SIGSTOP')
    await takesOver(1, viewer, period + 1)
    main.kill('SIGCONT')
    await takesOver(2, viewer, period + 2)
  })

  test('whose media comes slower than it plays', async () => {
    // From then on its clock has half the speed.
    let slowSinceMs: number | null = null
    const clock: Clock = {
      now: () => systemClock.now(),
      monotonic() {
        const nowMs = systemClock.monotonic()
        return slowSinceMs === null ? nowMs : slowSinceMs + (nowMs - slowSinceMs) / 2
      },
      sleep: (ms, signal) => systemClock.sleep(slowSinceMs === null ? ms : ms * 2, signal),
    }
    const main = await RtmpPublisher.start(addressOf(2), clock, await recordingOf('video-only'))
    open.push({ close: () => main.end() })
    await until(() => shown() === 2)
    ffmpeg(1)
    await until(() => publishing() === 2)
    slowSinceMs = systemClock.monotonic()
    await until(() => shown() === 1)
    expect(publishing()).toBe(2)
  })

  test('over WHIP that loses its network', async () => {
    const main = await whip(2)
    await until(() => shown() === 2)
    await whip(1)
    await until(() => publishing() === 2)
    const viewer = await watch('vp8')
    expect(shown()).toBe(2)
    await main.vanish()
    await until(() => shown() === 1)
    await goesOn(viewer)
  })
})

async function whip(priority: number): Promise<TestPublisher> {
  const publisher = new TestPublisher('vp8')
  open.push(publisher)
  const headers = { 'content-type': 'application/sdp', authorization: `Bearer ${token}` }
  const path = `${sluice.base}/api/whip/show?priority=${priority}`
  const answer = await fetch(path, { method: 'POST', headers, body: await publisher.offer() })
  expect(answer.status).toBe(201)
  await publisher.accept(await answer.text())
  publisher.play()
  return publisher
}

test('reprioritize disconnects the publishers of a token, and the new priority counts when they come back', async () => {
  const spare = await makeToken(sluice, 'publish', { priority: 1 })
  ffmpeg(2)
  await until(() => shown() === 2)
  const url = `rtmp://127.0.0.1:${sluice.rtmpPort}/v2/pub/show?token=${spare.token}`
  const publish = async () => {
    const publisher = await RtmpPublisher.start(url, systemClock, await recordingOf('video-only'))
    open.push({ close: () => publisher.end() })
    return publisher
  }
  const before = await publish()
  await until(() => publishing() === 2)
  const body = { tokenId: spare.id, updatePriority: 3 }
  const asked = await sluice.call('POST', '/api/stream/reprioritize', body)
  expect([asked.status, asked.json.data]).toEqual([200, { stoppingLevel: 'Token' }])
  await before.ended
  await publish()
  await until(() => shown() === 3)
})
