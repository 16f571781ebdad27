import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { ENDLESS_ROOM } from '../../../src/media/convert/encodingRoom.ts'
import { Hub } from '../../../src/media/hub.ts'
import type { Ffmpeg } from '../../../src/media/ffmpeg/ffmpeg.ts'
import { FeedStream } from '../../../src/media/hls/feedStream.ts'
import { MemoryStore } from '../../../src/media/hls/store.ts'
import { StreamNumbers } from '../../../src/media/hls/streamNumbers.ts'
import { freeLoad } from '../../support/load.ts'
import { silentLog } from '../../support/log.ts'

const STALL_MS = 15_000

test('a pause of the publisher was mistaken for an ffmpeg that hangs', async () => {
  const clock = new ManualClock()
  let kills = 0
  const process = {
    pid: null,
    write: () => true,
    end: () => undefined,
    stop: async (graceMs: number) => void (kills += graceMs === 0 ? 1 : 0),
    exited: new Promise(() => undefined),
  }
  const ffmpeg = { run: () => ({ ok: true, value: process }) } as unknown as Ffmpeg
  const source = new Hub()
  const stream = new FeedStream({
    ffmpeg,
    clock,
    log: silentLog,
    name: 'show',
    id: 'feed',
    store: new MemoryStore(),
    numbers: new StreamNumbers(clock),
    source,
    segments: { targetSeconds: 2, listed: 6, maxBytes: 1e6, parts: true },
    renditions: [],
    load: freeLoad(),
    encodingRoom: ENDLESS_ROOM,
    stallMs: STALL_MS,
  })
  const frames = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 500) {
      const timeUs = clock.now() * 1000
      source.frame({ kind: 'video', key: true, timeUs, decodeTimeUs: timeUs, data: Buffer.alloc(100) })
      clock.advance(500)
      await stream.checkProgress()
    }
  }
  source.tracks([{ kind: 'video', codec: 'vp8', width: 64, height: 64, config: new Uint8Array(0) }])
  await frames(5000)
  clock.advance(STALL_MS)
  await stream.checkProgress()
  await frames(STALL_MS - 1000)
  expect(kills).toBe(0)
  await frames(3000)
  expect(kills).toBe(1)
})
