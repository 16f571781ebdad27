import { afterEach, expect, test } from 'vitest'
import { loadWebRtc } from '../../src/app/remoteSession.ts'
import type { App } from '../../src/app/app.ts'
import type { FeedMedia } from '../../src/app/feedMedia.ts'
import { LeavingCalls, openAttempt } from '../../src/app/restreamTargets.ts'
import { ManualClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import type { AttemptEvent } from '../../src/core/restream/driver.ts'
import type { FrameSink, TrackInfo } from '../../src/media/frame.ts'
import { answerAdmitted, answerRefused, REJECT } from '../../src/media/srt/handshake.ts'
import { CONTROL } from '../../src/media/srt/packets.ts'
import { AVC_CONFIG } from '../media/rtmp/media.ts'
import { passes, request, ScriptedListener } from '../media/srt/scriptedListener.ts'
import { silentLog } from '../support/log.ts'
import { until } from '../support/until.ts'

const LATENCY_MS = 5000
const VIDEO: TrackInfo = { kind: 'video', codec: 'h264', width: 320, height: 240, config: AVC_CONFIG }
const FRAME = {
  kind: 'video',
  timeUs: 0,
  decodeTimeUs: 0,
  key: true,
  data: Buffer.from([0, 0, 0, 2, 0x65, 0x88]),
} as const

const closing: (() => unknown)[] = []
afterEach(() => {
  for (const close of closing.splice(0).reverse()) close()
})

/** Media of one picture. */
const media = {
  source: {
    subscribe(sink: FrameSink) {
      sink.tracks([VIDEO])
      return () => undefined
    },
  },
  subscribe(_: string, sink: FrameSink) {
    sink.tracks([VIDEO])
    sink.frame(FRAME)
    return () => undefined
  },
} as unknown as FeedMedia

/** A target that takes one call at a time, and shows what it gets after its latency. */
async function studio() {
  const clock = new ManualClock()
  const app = { ctx: { clock, random: systemRandom, log: silentLog } } as unknown as App
  const hasGoodbye = (): boolean => listener.controls.includes(CONTROL.shutdown)
  const listener = await ScriptedListener.open((sequence) =>
    listener.sequences.length > 0 && !hasGoodbye()
      ? answerRefused({ sequence }, REJECT.conflict)
      : answerAdmitted({ sequence, socketId: 55, latencyMs: LATENCY_MS, request, keyBits: null }),
  )
  closing.push(() => listener.close())
  const leaving = new LeavingCalls()
  closing.push(() => leaving.hangUpAll())
  const how = () => ({
    clock,
    resolve: () => Promise.resolve(['127.0.0.1']),
    allows: () => true,
    timeoutMs: 5000,
    trust: undefined,
    protocols: [],
  })
  const key = `srt://127.0.0.1:${listener.port}?latency=${LATENCY_MS}`
  const target = { index: 0, url: key, key, label: '', enabled: true, transcode: false }
  /** Sends the picture, and ends. */
  async function broadcast(): Promise<AttemptEvent[]> {
    const [events, before]: [AttemptEvent[], number] = [[], listener.data.length]
    const attempt = openAttempt(app, target, { media, report: (event) => events.push(event), how, leaving })
    await until(() => events.length > 0)
    if (events[0]?.kind === 'accepted') await until(() => listener.data.length > before)
    attempt.end()
    return events
  }
  return { clock, listener, leaving, broadcast, hasGoodbye }
}

const keepAlives = ({ controls }: ScriptedListener): number =>
  controls.filter((type) => type === CONTROL.keepAlive).length

test('a target over SRT hears the goodbye when it has shown all of a broadcast, after its latency', async () => {
  const { clock, listener, broadcast, hasGoodbye } = await studio()
  await broadcast()
  await passes(clock, LATENCY_MS - 500)
  await until(() => keepAlives(listener) >= 4)
  expect(hasGoodbye()).toBe(false)
  await passes(clock, 1000)
  await until(hasGoodbye)
})

test('a target over SRT hears it sooner when the next broadcast calls, which it takes at once', async () => {
  const { broadcast } = await studio()
  expect(await broadcast()).toEqual([{ kind: 'accepted' }])
  expect(await broadcast()).toEqual([{ kind: 'accepted' }])
})

test('a target over SRT hears it at once when the node stops, because broadcasts go on at another one', async () => {
  const { leaving, broadcast, hasGoodbye } = await studio()
  await broadcast()
  leaving.hangUpAll()
  await until(hasGoodbye)
})

test('what clients of WebRTC bring with them is loaded in parts, between which other work goes on', async () => {
  let [turns, isLoaded] = [0, false]
  const turn = (): void => {
    turns += 1
    if (!isLoaded) setImmediate(turn)
  }
  turn()
  await loadWebRtc()
  isLoaded = true
  expect(turns).toBeGreaterThan(8)
})
