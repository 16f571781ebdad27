import { expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { SAMPLE_MS } from '../../src/core/streams/health.ts'
import type { SourceReading } from '../../src/core/streams/source.ts'
import type { ActiveSession } from '../../src/media/sessionRegistry.ts'
import { FeedMeter } from '../../src/services/feedMeter.ts'

const VIDEO = { id: 'v', kind: 'video', codec: 'h264', width: 1280, height: 720, config: new Uint8Array() } as const

/** A publisher over RTMP, and the meter of its feed. */
function publisher() {
  const clock = new ManualClock(0)
  const meter = new FeedMeter(clock)
  const media = { tracks: [VIDEO], frames: 0, source: {} as SourceReading, countedAtMs: null as number | null }
  const entry = {
    session: { protocol: 'rtmp' },
    bytes: { bytesIn: 0, bytesOut: 0 },
    mediaAtMs: null as number | null,
    media,
  }
  /** Media as measured, after so long, and a look at it. */
  const look = (source: SourceReading, { frames = 60, afterMs = SAMPLE_MS } = {}): void => {
    clock.advance(afterMs)
    const nowMs = clock.monotonic()
    entry.mediaAtMs = nowMs
    Object.assign(media, { source, frames: media.frames + frames, countedAtMs: nowMs })
    meter.sample(entry as unknown as ActiveSession)
  }
  return { meter, look, reading: () => meter.reading(entry as unknown as ActiveSession) }
}

const GOOD: SourceReading = { behindMs: 40, sentFrameRate: 30 }
const LATE: SourceReading = { behindMs: 3000, sentFrameRate: 30 }

const codes = ({ findings }: FeedMeter): string[] => findings.map(({ code }) => code)

test('a slow connection is found, but not while this machine catches up after it has stood still', () => {
  const { meter, look } = publisher()
  for (let count = 0; count < 5; count++) look(GOOD)
  look(LATE, { afterMs: 5000 })
  look(LATE)
  look(LATE)
  expect(codes(meter)).toEqual([])
  for (let count = 0; count < 4; count++) look(LATE)
  expect(codes(meter)).toEqual(['link_slow'])
})

test('frames that come at once after a pause make no rate that the publisher never had', () => {
  const { look, reading } = publisher()
  for (let count = 0; count < 3; count++) look(GOOD)
  expect(reading().frameRate).toBe(30)
  look(GOOD, { frames: 900 })
  expect(reading().frameRate).toBe(30)
  look({}, { frames: 900 })
  expect(reading().frameRate).toBe(450)
})

test('a stream that stops has no frames, whatever its clock said', () => {
  const { look, reading } = publisher()
  for (let count = 0; count < 3; count++) look(GOOD)
  for (let count = 0; count < 3; count++) look(GOOD, { frames: 0 })
  expect(reading().frameRate).toBe(0)
})
