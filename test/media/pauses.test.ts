import { expect, onTestFinished, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import type { LoadControl } from '../../src/core/channels/runs/load.ts'
import type { Encoder } from '../../src/media/encoder/encoder.ts'
import { watchEncoder } from '../../src/media/transcoder/encoderWatch.ts'
import { RtmpClient } from './rtmp/client.ts'
import { avcConfig, videoFrame } from './rtmp/media.ts'
import { listenFor } from './rtmp/publications.ts'
import { until } from '../support/until.ts'
import { silentLog } from '../support/log.ts'

// The process is suspended for a minute: then timers come before what waits in its sockets is read.
const PAUSE_MS = 60_000

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('an RTMP broadcast goes on after a pause of the process, and ends when its encoder is silent', async () => {
  const clock = new ManualClock()
  const place = await listenFor({}, undefined, silentLog, clock)
  onTestFinished(() => place.stop())
  const client = await RtmpClient.open(place.port)
  await client.publish('v2/pub', 'x')
  client.send(avcConfig())
  clock.advance(PAUSE_MS)
  await turn()
  const [publication = expect.fail()] = place.publications
  client.send(videoFrame(0))
  await until(() => publication.frames.length === 1)
  expect(publication.ends).toBe(0)
  while (publication.ends === 0) {
    clock.advance(1000)
    await turn()
  }
  await until(() => place.connections() === 0)
})

test('a pause of the process does not make an encoder look slow', async () => {
  const clock = new ManualClock()
  const ended = Promise.withResolvers<void>()
  const looksAtMs: number[] = []
  const encoder = { process: { pid: null, exited: ended.promise }, encodedMs: 0 } as unknown as Encoder
  const load = {
    begun: () => undefined,
    over: () => undefined,
    look({ atMs }: { readonly atMs: number }) {
      looksAtMs.push(atMs)
      return { restart: false }
    },
  } as unknown as LoadControl
  const watching = watchEncoder({ clock, log: silentLog, encoder, fed: null, load, found: () => undefined })
  for (const ms of [1000, 1000, PAUSE_MS, 1000]) {
    const count = looksAtMs.length
    clock.advance(ms)
    await until(() => looksAtMs.length > count)
    await turn()
  }
  const [first = expect.fail()] = looksAtMs
  expect(looksAtMs.map((atMs) => atMs - first)).toEqual([0, 1000, 2000, 3000])
  ended.resolve()
  await watching
})
