import { once } from 'node:events'
import fs, { mkdirSync, mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync, type WriteStream } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { timeOrderedId } from '../../../src/base/ids.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { Hub } from '../../../src/media/hub.ts'
import type { Ffmpeg, FfmpegExit } from '../../../src/media/ffmpeg/ffmpeg.ts'
import { Recorder } from '../../../src/media/recordings/recorder.ts'
import { RecordingFiles } from '../../../src/media/recordings/recordingFiles.ts'
import { type RecordingBook, Recordings } from '../../../src/media/recordings/recordings.ts'
import { Thumbnails } from '../../../src/media/recordings/thumbnails.ts'
import type { ActiveFeed } from '../../../src/media/feedsOnAir.ts'
import { silentLog } from '../../support/log.ts'
import { until } from '../../support/until.ts'

const dir = mkdtempSync(join(tmpdir(), 'sluice-recorder-'))
const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
  rmSync(dir, { recursive: true, force: true })
})

const noFfmpeg = { run: () => ({ ok: false, error: { code: 'missing', message: 'none here' } }) } as unknown as Ffmpeg

/** Recordings with a book in memory; `unfinished`: recordings that an earlier process left. */
function recordings(
  clock: ManualClock,
  unfinished: string[] = [],
  ffmpeg = noFfmpeg,
  accountOf = (_id: string) => 'a',
) {
  const ended = new Map<string, number>()
  const failed = new Map<string, string>()
  const begun: string[] = []
  const completed: string[] = []
  const looks = { count: 0 }
  const deleted = new Set<string>()
  const forgotten: string[] = []
  const files = new RecordingFiles(dir)
  const book: RecordingBook = {
    begin: async (_feed, { id }) => void begun.push(id),
    end: async (id, atMs) => void (ended.has(id) || ended.set(id, atMs)),
    complete: async (id) => void completed.push(id),
    fail: async (id, problem) => void failed.set(id, problem.message),
    async forget(id) {
      await setImmediate()
      forgotten.push(id)
      deleted.delete(id)
    },
    adopt: async () => undefined,
    async abandoned() {
      looks.count += 1
      return unfinished.map((id) => ({ id, accountId: accountOf(id) }))
    },
    deleted: async () => [...deleted],
  }
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
  return { made, files, book, ended, failed, begun, completed, looks, deleted, forgotten }
}

const HOUR_MS = 3_600_000

test.each([0, HOUR_MS, -HOUR_MS])(
  'a recording ended when its publisher was detected as lost, and not with its last frame, nor by a clock that was set by %i ms',
  async (byMs) => {
    const clock = new ManualClock()
    const { made, ended, begun } = recordings(clock)
    const media = new Hub()
    const track = { kind: 'video', codec: 'vp8', width: 64, height: 64, config: new Uint8Array(0) } as const
    made.start(feedOf('feed', 'a1b2c3', media))
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

test('a recording whose begin the store did not take at once goes on, and keeps its files', async () => {
  const clock = new ManualClock()
  const { made, files, book, ended, begun } = recordings(clock)
  const begin = book.begin.bind(book)
  let tries = 0
  book.begin = (...given) => (++tries < 3 ? Promise.reject(new Error('unavailable')) : begin(...given))
  const media = new Hub()
  made.start(feedOf('feed', 'a1b2c3', media))
  media.tracks([{ kind: 'video', codec: 'vp8', width: 64, height: 64, config: new Uint8Array(0) }])
  media.frame({ kind: 'video', key: true, timeUs: 0, decodeTimeUs: 0, data: Buffer.alloc(5000) })
  await until(() => tries === 1)
  media.end()
  await until(() => {
    clock.advance(1000)
    return ended.size === 1
  })
  expect(await files.parts(begun[0] ?? '')).toHaveLength(1)
})

const PART = { file: 'part-0.mkv', tracks: [{ kind: 'video', codec: 'vp8' }] } as const

/** A recording of one part that no process works on. */
async function leftRecording(clock: ManualClock): Promise<string> {
  const id = timeOrderedId(clock.now(), systemRandom)
  const file = new RecordingFiles(dir).begin(id, [PART])
  await new Promise<void>((resolve) => file.end(Buffer.alloc(5000), () => resolve()))
  return id
}

test('a recording that a crash interrupted ended with the next start, and not with its last write', async () => {
  const clock = new ManualClock()
  const id = await leftRecording(clock)
  const diedMs = clock.now() - 86_400_000
  utimesSync(join(dir, id, 'part-0.mkv'), diedMs / 1000, diedMs / 1000)
  const { ended } = recordings(clock, [id])
  await until(() => ended.size === 1)
  expect(ended.get(id)).toBe(diedMs)
})

/** Frames of two parts, each a keyframe. */
function twoParts(media: Hub): void {
  for (const at of [0, 1]) {
    media.tracks([{ kind: 'video', codec: 'vp8', width: 64 + at, height: 64, config: new Uint8Array(0) }])
    const timeUs = at * 40_000
    media.frame({ kind: 'video', key: true, timeUs, decodeTimeUs: timeUs, data: Buffer.alloc(500) })
  }
}

test.each([null, 'no room'])(
  'a recording is over when a slow disk has all of its parts, not the last alone: %s',
  async (lost) => {
    const slow = Promise.withResolvers<void>()
    const parts: Writable[] = []
    const begin = (): WriteStream => {
      const taken = parts.length === 0 ? slow.promise : Promise.resolve()
      const error = parts.length === 0 && lost !== null ? new Error(lost) : null
      const part = new Writable({ write: (_chunk, _encoding, done) => void taken.then(() => done(error)) })
      parts.push(part)
      return part as unknown as WriteStream
    }
    const media = new Hub()
    const ends: (string | undefined)[] = []
    const of = {
      clock: new ManualClock(),
      feed: feedOf('feed', 'a1b2c3', media),
      id: 'one',
      begun: async () => undefined,
    }
    const files = { begin } as unknown as RecordingFiles
    const recorder = new Recorder({ ...of, files, ended: ({ problem }) => void ends.push(problem?.message) })
    twoParts(media)
    media.end()
    await once(parts[1] ?? expect.fail(), 'close')
    expect([recorder.isOver, ends]).toEqual([true, []])
    slow.resolve()
    await until(() => ends.length === 1)
    expect(ends).toEqual([lost === null ? undefined : expect.stringContaining(lost)])
  },
)

test('a disk that is full when a part begins takes nothing from the parts before', async () => {
  const id = await leftRecording(new ManualClock())
  const { writeFileSync: write } = fs
  // The file is emptied before there is no room for its text.
  fs.writeFileSync = ((path: string) => {
    write(path, '')
    throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
  }) as typeof fs.writeFileSync
  syncBuiltinESMExports()
  onTestFinished(() => {
    fs.writeFileSync = write
    syncBuiltinESMExports()
  })
  const files = new RecordingFiles(dir)
  expect(() => files.begin(id, [PART, { ...PART, file: 'part-1.mkv' }])).toThrow('no space left')
  expect(await files.parts(id)).toMatchObject([{ tracks: PART.tracks }])
})

test('a recording whose files cannot be used keeps no other from being finished', async () => {
  const clock = new ManualClock()
  const { failed } = recordings(clock, ['no id', timeOrderedId(clock.now(), systemRandom)])
  await until(() => failed.size === 1)
  expect([...failed.values()]).toEqual([expect.stringContaining('its files are not there')])
})

test('a recording without media says so', async () => {
  const clock = new ManualClock()
  const id = timeOrderedId(clock.now(), systemRandom)
  mkdirSync(join(dir, id), { recursive: true })
  const { failed } = recordings(clock, [id])
  await until(() => failed.size === 1)
  expect([...failed.values()]).toEqual(['nothing was recorded'])
})

test('what a disk has that was not mounted is adopted and removed when it is', async () => {
  const clock = new ManualClock()
  const [left, gone] = [await leftRecording(clock), await leftRecording(clock)]
  const away = `${dir}-away`
  renameSync(dir, away)
  onTestFinished(() => rmSync(away, { recursive: true, force: true }))
  const { made, files, book, deleted, forgotten, looks } = recordings(clock)
  const adopted: (readonly string[])[] = []
  book.adopt = async (ids) => void adopted.push(ids.toSorted())
  deleted.add(gone)
  await made.removeDeleted()
  await until(() => looks.count === 1)
  expect([forgotten, adopted]).toEqual([[], []])
  renameSync(away, dir)
  clock.advance(30_000)
  await until(() => adopted.length === 1 && forgotten.length === 1)
  expect([adopted, await files.ids()]).toEqual([[[left, gone].toSorted()], [left]])
})

test('an account with thousands of short recordings kept those of others waiting', async () => {
  const ids = Array.from({ length: 200 }, (_, at) => timeOrderedId(at, systemRandom))
  const last = ids.at(-1) ?? ''
  const { failed } = recordings(new ManualClock(), ids, noFfmpeg, (id) => (id === last ? 'other' : 'busy'))
  await until(() => failed.size === ids.length)
  expect([...failed.keys()].indexOf(last)).toBeLessThan(10)
})

test('thousands of recordings that have to be finished were read again after each three of them', async () => {
  const ids = Array.from({ length: 200 }, (_, at) => timeOrderedId(at, systemRandom))
  const { failed, looks } = recordings(new ManualClock(), ids)
  await until(() => failed.size === ids.length)
  expect(looks.count).toBe(1)
})

test('fifty recordings that were deleted at once were removed up to fifty times each', async () => {
  const { made, deleted, forgotten } = recordings(new ManualClock())
  await leftRecording(new ManualClock())
  const all = Array.from({ length: 50 }, (_, at) => {
    deleted.add(timeOrderedId(at, systemRandom))
    return made.removeDeleted()
  })
  await Promise.all(all)
  expect([deleted.size, forgotten.length]).toEqual([0, 50])
})

test('a recording that ends while thousands of another account wait has its turn', async () => {
  const clock = new ManualClock()
  const ids = Array.from({ length: 200 }, (_, at) => timeOrderedId(at, systemRandom))
  const { made, failed, begun } = recordings(clock, ids, noFfmpeg, () => 'busy')
  const media = new Hub()
  made.start(feedOf('feed', 'other', media))
  media.tracks([{ kind: 'video', codec: 'vp8', width: 64, height: 64, config: new Uint8Array(0) }])
  media.frame({ kind: 'video', key: true, timeUs: 0, decodeTimeUs: 0, data: Buffer.alloc(500) })
  media.end()
  await until(() => failed.size === ids.length + 1)
  expect([...failed.keys()].indexOf(begun[0] ?? '')).toBeLessThan(150)
})

test('a conversion that meets a full disk is done again when there is room', async () => {
  const clock = new ManualClock()
  const id = await leftRecording(clock)
  const tail = 'av_interleaved_write_frame(): No space left on device\nframe= 1'
  const exits: FfmpegExit[] = [
    { code: 1, signal: null, tail },
    { code: 0, signal: null, tail: '' },
  ]
  const ffmpeg = {
    run({ name, args }: { name: string; args: readonly string[] }) {
      const exit = name === `recording ${id}` ? exits.shift() : undefined
      if (exit === undefined) return { ok: false, error: { code: 'busy', message: 'later' } }
      writeFileSync(args.at(-1) ?? '', 'converted')
      return {
        ok: true,
        value: { exited: Promise.resolve(exit), progress: { outTimeMs: 1000 }, stop: async () => exit },
      }
    },
  } as unknown as Ffmpeg
  const { failed, completed, files } = recordings(clock, [id], ffmpeg)
  await until(() => exits.length === 1 && !fs.existsSync(files.unfinished(id)))
  expect([...failed.values(), ...completed]).toEqual([])
  await until(() => {
    clock.advance(31_000)
    return completed.length > 0
  })
  expect(failed.size).toBe(0)
})

/** A feed of an account. */
const feedOf = (feedId: string, accountId: string, media = new Hub()): ActiveFeed => ({
  feedId,
  sessionId: 's',
  accountId,
  streamName: 'show',
  sourceId: null,
  layer: null,
  tokenId: 1,
  secured: false,
  regions: null,
  startedAtMs: 0,
  record: false,
  restream: false,
  thumbnails: true,
  renditions: [],
  media,
})

/** Thumbnails whose decoder takes as long as the test lets it. */
async function thumbnails(clock: ManualClock) {
  const taken: string[] = []
  const decoding: (() => void)[] = []
  const run = ({ stdout }: { stdout?: (chunk: Buffer) => void }) => {
    const { promise: exited, resolve } = Promise.withResolvers<FfmpegExit>()
    decoding.push(() => {
      stdout?.(Buffer.from('jpeg'))
      resolve({ code: 0, signal: null, tail: '' })
    })
    return { ok: true, value: { write: () => true, end: () => undefined, stop: () => exited, exited } }
  }
  const made = new Thumbnails({
    ffmpeg: { run } as unknown as Ffmpeg,
    clock,
    log: silentLog,
    limits: { thumbnailsEveryMs: 30_000 },
    capture: async ({ feedId }) => void taken.push(feedId),
  })
  stops.push(async () => {
    const stopped = made.stop()
    for (const one of decoding.splice(0)) one()
    await stopped
  })
  // It has looked for the first time, and looks again when the clock says.
  await setImmediate()
  return { made, taken, decoding }
}

function withKeyframe(): Hub {
  const media = new Hub()
  media.tracks([{ kind: 'video', codec: 'vp8', width: 64, height: 64, config: new Uint8Array(0) }])
  media.frame({ kind: 'video', key: true, timeUs: 0, decodeTimeUs: 0, data: Buffer.alloc(500) })
  return media
}

test('feeds without a keyframe kept others from their thumbnails, five seconds each', async () => {
  const clock = new ManualClock()
  const { made, taken, decoding } = await thumbnails(clock)
  for (let at = 0; at < 6; at++) made.start(feedOf(`black ${at}`, 'busy'))
  made.start(feedOf('of the same account', 'busy', withKeyframe()))
  for (let at = 0; at < 100; at++) made.start(feedOf(`black ${at + 6}`, 'busy'))
  made.start(feedOf('of another account', 'other', withKeyframe()))
  clock.advance(1000)
  await until(() => decoding.length === 1)
  decoding.shift()?.()
  await until(() => decoding.length === 1)
  decoding.shift()?.()
  await until(() => taken.length === 2)
  expect(taken).toEqual(['of the same account', 'of another account'])
})

test('accounts take turns where their thumbnails are decoded', async () => {
  const clock = new ManualClock()
  const { made, taken, decoding } = await thumbnails(clock)
  for (let at = 0; at < 6; at++) made.start(feedOf(`busy ${at}`, 'busy', withKeyframe()))
  made.start(feedOf('other', 'other', withKeyframe()))
  clock.advance(1000)
  for (let at = 0; at < 3; at++) {
    await until(() => decoding.length === 1)
    decoding.shift()?.()
  }
  await until(() => taken.length === 3)
  expect(taken).toEqual(['busy 0', 'busy 1', 'other'])
})
