import { afterEach, expect, test, vi } from 'vitest'
import { AccountShare } from '../../../src/base/accountShare.ts'
import { ManualClock } from '../../../src/base/clock.ts'
import { createLogger } from '../../../src/base/log.ts'
import { SegmentMemory } from '../../../src/base/segmentMemory.ts'
import { ENDLESS_ROOM } from '../../../src/media/convert/encodingRoom.ts'
import type { ActiveFeed } from '../../../src/media/feedsOnAir.ts'
import type { Ffmpeg } from '../../../src/media/ffmpeg/ffmpeg.ts'
import { Hls } from '../../../src/media/hls/hls.ts'
import { StreamNumbers } from '../../../src/media/hls/streamNumbers.ts'
import { Hub } from '../../../src/media/hub.ts'
import { freeLoad } from '../../support/load.ts'

const IDLE_MS = 10_000

const feed = (feedId: string, over: Partial<ActiveFeed> = {}): ActiveFeed =>
  ({
    feedId,
    accountId: 'a',
    streamName: 'show',
    sourceId: null,
    secured: false,
    renditions: [],
    ...over,
  }) as ActiveFeed

/** Feeds in HLS, whose media never comes, and which nothing looks after but the test. */
function packaging(maxStreams = 9, accounts: readonly string[] = []) {
  const errors: string[] = []
  const destination = { write: (line: string) => void errors.push((JSON.parse(line) as { message: string }).message) }
  const clock = new ManualClock()
  const hls = new Hls({
    // What is sent needs no process.
    ffmpeg: {} as Ffmpeg,
    clock,
    log: createLogger({ level: 'error', format: 'json', destination }),
    limits: { maxStreams, idleMs: IDLE_MS },
    share: new AccountShare(accounts),
    memory: new SegmentMemory(),
    segments: () => ({ targetSeconds: 2, listed: 6, maxBytes: 64e6, parts: false }),
    load: freeLoad(),
    encodingRoom: ENDLESS_ROOM,
    mediaOf: () => new Hub(),
    numbers: new StreamNumbers(clock),
  })
  opened.push(hls)
  const open = (feedId: string, over?: Partial<ActiveFeed>) => {
    const stream = hls.open(feed(feedId, over))
    return stream.ok ? stream.value : expect.fail(stream.error)
  }
  const sweep = async (ms: number): Promise<void> => {
    for (let passedMs = 0; passedMs < ms; passedMs += 1000) {
      clock.advance(1000)
      await hls.sweep()
    }
  }
  return { hls, open, sweep, errors }
}

const opened: Hls[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const hls of opened.splice(0)) await hls.stop()
})

test('a fault in looking after one stream kept idle ones from being stopped', async () => {
  const { hls, open, sweep, errors } = packaging()
  open('idle')
  vi.spyOn(open('broken'), 'checkProgress').mockRejectedValue(new Error('a fault of ours'))
  await sweep(1000)
  expect([hls.size, hls.find('broken'), errors]).toEqual([1, undefined, ['the HLS of a feed failed, and is stopped']])
  await sweep(IDLE_MS)
  expect([hls.size, errors.length]).toEqual([0, 1])
  // The next request begins again.
  open('broken')
})

test('a feed is packaged until it has had no request for long enough', async () => {
  const { hls, open, sweep } = packaging()
  const stream = open('feed')
  await sweep(IDLE_MS)
  expect(hls.find('feed')).toBe(stream)
  await sweep(IDLE_MS)
  expect(hls.size).toBe(1)
  await sweep(1000)
  expect([hls.size, hls.find('feed')]).toEqual([0, undefined])
})

test('no more feeds are packaged than the limit, and one that is needs no other room', () => {
  const { hls, open } = packaging(2)
  const [first] = [open('a'), open('b')]
  expect(hls.open(feed('c'))).toEqual({ ok: false, error: 'Too many streams are watched over HLS: try again later' })
  expect(open('a')).toBe(first)
})

test('an account had all streams packaged that may be, and others none', () => {
  const { hls, open } = packaging(8)
  for (const id of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) open(id)
  open('theirs', { accountId: 'other' })
  expect(hls.open(feed('h'))).toMatchObject({ ok: false })
  const shared = packaging(8, ['a', 'other'])
  for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) shared.open(id)
  expect(shared.hls.open(feed('g'))).toEqual({
    ok: false,
    error: 'Too many streams are watched over HLS: try again later',
  })
  shared.open('more of theirs', { accountId: 'other' })
  // Of an account that was made later.
  const later = packaging(8, ['a'])
  later.hls.follow(feed('theirs', { accountId: 'other' }))
  for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) later.open(id)
  expect(later.hls.open(feed('g'))).toMatchObject({ ok: false })
})

test('viewers of a feed continue with the one that replaces it, unless they would have to ask for access', () => {
  const { hls, open } = packaging()
  const stream = open('first')
  for (const over of [{ accountId: 'b' }, { streamName: 'other' }, { sourceId: 'cam' }, { secured: true }])
    hls.follow(feed('second', over))
  expect(hls.find('second')).toBeUndefined()
  hls.follow(feed('second'))
  expect([hls.find('first'), hls.find('second'), hls.size]).toEqual([stream, stream, 1])
  expect(hls.feedOf('first')?.feedId).toBe('second')
  expect(hls.unended({ accountId: 'a', streamName: 'show', sourceId: null })).toBe(stream)
  expect(hls.unended({ accountId: 'a', streamName: 'show', sourceId: 'cam' })).toBeUndefined()
})

test('a secured feed is continued by one that is not secured', () => {
  const { hls, open } = packaging()
  const stream = open('first', { secured: true })
  hls.follow(feed('second', { secured: true }))
  hls.follow(feed('third'))
  expect(['second', 'third'].map((feedId) => hls.find(feedId))).toEqual([stream, stream])
})

test('of feeds that followed one another the first and the latest hundred lead to the stream', () => {
  const { hls, open } = packaging()
  const stream = open('0')
  for (let n = 1; n <= 100; n += 1) hls.follow(feed(String(n)))
  expect(hls.find('1')).toBeUndefined()
  for (const feedId of ['0', '2', '100']) expect(hls.find(feedId)).toBe(stream)
})
