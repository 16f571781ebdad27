import { noticeText } from '../../../src/core/notices.ts'
import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { err, ok } from '../../../src/base/result.ts'
import type { DialSource, SourceOptions } from '../../../src/media/pulling.ts'
import { PulledSources } from '../../../src/media/transcoder/pulledSources.ts'
import { silentLog } from '../../support/log.ts'
import { until } from '../../support/until.ts'

const CAMERA = {
  kind: 'pull',
  accountId: 'a1b2c3',
  ingestId: 'in_1',
  url: 'rtsp://192.0.2.1/stream1',
  audio: [],
} as const
const TRACK = { kind: 'video', codec: 'h264', config: Buffer.of(1), width: 320, height: 180 } as const

/** A camera, as the test plays it, and engines that take it. */
function begin() {
  const clock = new ManualClock()
  const connections: (SourceOptions & { isOver: boolean })[] = []
  const meters = { begun: 0, ended: 0 }
  let refusal: string | null = null
  const open = async (options: SourceOptions) => {
    const connection = { ...options, isOver: false }
    connections.push(connection)
    const end = () => void (connection.isOver = true)
    return { bytesIn: 0, start: async () => undefined, tick: () => undefined, end }
  }
  const dials: string[] = []
  const dial: DialSource = async ({ host }) => {
    dials.push(host)
    return refusal === null ? ok({ peer: host, close: () => undefined, open }) : err({ message: refusal })
  }
  const meter = {
    segment: () => undefined,
    connected: () => {
      meters.begun += 1
      return { received: () => undefined, ended: () => void (meters.ended += 1) }
    },
  }
  const sources = new PulledSources({ clock, random: systemRandom, log: silentLog, dial, meter })
  const engine = () => {
    const heard: string[] = []
    const leave = sources.watch(CAMERA, {
      media: (media) => {
        heard.push('media')
        media.subscribe({ tracks: () => undefined, frame: () => undefined, end: () => heard.push('end') })
      },
      missing: ({ sentences = [] }) => heard.push(`missing: ${noticeText(sentences.slice(1))}`),
      givenUp: ({ sentences = [] }) => heard.push(`given up: ${noticeText(sentences.slice(1))}`),
      leftOut: (what) => heard.push(what),
    })
    return { heard, leave }
  }
  /** Lets time pass until the camera has had so many connections. Returns the latest. */
  const connected = (times: number) =>
    until(() => {
      clock.advance(20_000)
      return connections.length === times && connections.at(-1)
    })
  return { clock, meters, engine, connected, connections, dials, refuse: (why: string | null) => (refusal = why) }
}

test('engines of one ingest share its connection, which ends with the last of them', async () => {
  const { engine, connected, connections, meters } = begin()
  const [first, second] = [engine(), engine()]
  const connection = await connected(1)
  connection.leftOut('No audio')
  connection.leftOut('No audio')
  connection.sink.tracks([TRACK])
  const third = engine()
  for (const { heard } of [first, second, third]) expect(heard).toEqual(['No audio', 'media'])
  expect(meters).toEqual({ begun: 1, ended: 0 })
  first.leave()
  first.leave()
  third.leave()
  expect([connection.isOver, connections.length]).toEqual([false, 1])
  second.leave()
  expect([connection.isOver, meters.ended]).toEqual([true, 1])
  expect(second.heard.at(-1)).toBe('end')
  engine().leave()
})

test('a source that is lost is dialled again, also one that sends what cannot be played, and its reason is told once', async () => {
  const { engine, connected, connections, clock, dials, refuse } = begin()
  const { heard, leave } = engine()
  const first = await connected(1)
  first.sink.tracks([TRACK])
  first.ended({ kind: 'lost', message: 'It is gone' })
  refuse('No answer')
  await until(() => {
    clock.advance(20_000)
    return dials.length >= 4
  })
  const late = engine()
  expect(heard).toEqual(['media', 'end', 'missing: It is gone', 'missing: No answer'])
  expect(late.heard).toEqual(['missing: No answer'])
  refuse(null)
  const again = await connected(2)
  again.ended({ kind: 'unsuitable', message: 'Only MPEG-4' })
  for (const one of [heard, late.heard]) expect(one.at(-1)).toBe('missing: Only MPEG-4')
  ;(await connected(3)).sink.tracks([TRACK])
  expect([heard.at(-1), late.heard.at(-1), connections.length]).toEqual(['media', 'media', 3])
  leave()
  late.leave()
})

test('a source that refuses three times is left by all engines, and dialled again by the next one', async () => {
  const { engine, connected } = begin()
  const [first, second] = [engine(), engine()]
  for (let attempt = 1; attempt <= 3; attempt++) {
    ;(await connected(attempt)).ended({ kind: 'refused', message: 'Wrong password' })
  }
  for (const { heard } of [first, second])
    expect(heard).toEqual(['missing: Wrong password', 'given up: Wrong password'])
  const third = engine()
  ;(await connected(4)).sink.tracks([TRACK])
  expect([third.heard, first.heard.length]).toEqual([['media'], 2])
  third.leave()
})
