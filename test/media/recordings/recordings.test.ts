import { mkdtempSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { timeOrderedId } from '../../../src/base/ids.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { Hub } from '../../../src/media/hub.ts'
import type { Ffmpeg } from '../../../src/media/ffmpeg/ffmpeg.ts'
import { RecordingFiles } from '../../../src/media/recordings/recordingFiles.ts'
import { type RecordingBook, Recordings } from '../../../src/media/recordings/recordings.ts'
import { silentLog } from '../../support/log.ts'
import { until } from '../../support/until.ts'

const dir = mkdtempSync(join(tmpdir(), 'sluice-recorder-'))
const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
  rmSync(dir, { recursive: true, force: true })
})

/** Recordings with a book in memory; `unfinished`: recordings that an earlier process left. */
function recordings(clock: ManualClock, unfinished: string[] = []) {
  const ended = new Map<string, number>()
  const begun: string[] = []
  const files = new RecordingFiles(dir)
  const book: RecordingBook = {
    begin: async (_feed, { id }) => void begun.push(id),
    end: async (id, atMs) => void ended.set(id, atMs),
    complete: async () => undefined,
    fail: async () => undefined,
    forget: async () => undefined,
    abandoned: async () => unfinished.map((id) => ({ id, state: 'recording' })),
  }
  const ffmpeg = { run: () => ({ ok: false, error: { code: 'missing', message: 'none here' } }) } as unknown as Ffmpeg
  const made = new Recordings({
    ffmpeg,
    clock,
    log: silentLog,
    files,
    book,
    newId: () => timeOrderedId(clock.now(), systemRandom),
    limits: { minFreeBytes: 0 },
  })
  stops.push(() => made.stop(0))
  return { made, files, ended, begun }
}

const HOUR_MS = 3_600_000

test.each([0, HOUR_MS, -HOUR_MS])(
  'a recording ended when its publisher was detected as lost, and not with its last frame, nor by a clock that was set by %i ms',
  async (byMs) => {
    const clock = new ManualClock()
    const { made, ended, begun } = recordings(clock)
    const media = new Hub()
    const track = { kind: 'video', codec: 'vp8', width: 64, height: 64, config: new Uint8Array(0) } as const
    made.start({
      feedId: 'feed',
      sessionId: 's',
      accountId: 'a1b2c3',
      streamName: 'show',
      sourceId: null,
      tokenId: 1,
      secured: false,
      regions: null,
      startedAtMs: clock.now(),
      record: true,
      restream: true,
      thumbnails: false,
      renditions: [],
      media,
    })
    media.tracks([track])
    for (const timeUs of [0, 40_000, 80_000])
      media.frame({ kind: 'video', key: timeUs === 0, timeUs, decodeTimeUs: timeUs, data: Buffer.alloc(500) })
    const lastMs = clock.now()
    await until(() => begun.length === 1)
    clock.advance(15_000)
    clock.setWall(byMs)
    media.end()
    await until(() => ended.size === 1)
    expect(ended.get(begun[0] ?? '')).toBe(lastMs)
  },
)

test('a recording that a crash interrupted ended with the next start, and not with its last write', async () => {
  const clock = new ManualClock()
  const id = timeOrderedId(clock.now(), systemRandom)
  const file = new RecordingFiles(dir).begin(id, [{ file: 'part-0.mkv', tracks: [{ kind: 'video', codec: 'vp8' }] }])
  await new Promise<void>((resolve) => file.end(Buffer.alloc(5000), () => resolve()))
  const diedMs = clock.now() - 86_400_000
  utimesSync(join(dir, id, 'part-0.mkv'), diedMs / 1000, diedMs / 1000)
  const { ended } = recordings(clock, [id])
  await until(() => ended.size === 1)
  expect(ended.get(id)).toBe(diedMs)
})
