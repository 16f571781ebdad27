import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Frame } from '../../../src/media/frame.ts'
import { Backlog } from '../../../src/media/relay/forward/backlog.ts'
import { createJsFanout } from '../../../src/media/relay/forward/fanout.ts'
import { FrameFeed } from '../../../src/media/relay/forward/frameFeed.ts'
import type { Source } from '../../../src/media/relay/forward/source.ts'

const FRAME_MS = 40
const GROUP = 50

/** A frame of the publisher: 25 a second, a keyframe every two seconds, all of one slice. */
function videoFrame(at: number, bytes = 2): Frame {
  const data = Buffer.alloc(4 + bytes)
  data.writeUInt32BE(bytes)
  data[4] = at % GROUP === 0 ? 0x65 : 0x41
  return {
    kind: 'video',
    timeUs: at * FRAME_MS * 1000,
    decodeTimeUs: at * FRAME_MS * 1000,
    key: at % GROUP === 0,
    data,
  }
}

/** Feeds frames `from` to `to`, the first at `startMs` and the others `everyMs` apart; what was passed on, and when. */
function feed(backlog: Backlog, from: number, to: number, startMs: number, everyMs: number) {
  return Array.from({ length: to - from }, (_, n) => from + n).flatMap((at, n) => {
    const nowMs = startMs + n * everyMs
    return backlog.take(videoFrame(at), nowMs).map(({ timeUs, key }) => ({ nowMs, timeMs: timeUs / 1000, key }))
  })
}

/** A second of frames on time. */
function begun(): Backlog {
  const backlog = new Backlog()
  expect(feed(backlog, 0, 25, 0, FRAME_MS)).toHaveLength(25)
  return backlog
}

describe('what a publisher sends to viewers in real time', () => {
  it('passes on as it comes while it is on time, jitter or not', () => {
    const backlog = begun()
    for (let at = 25; at < 500; at++) {
      const nowMs = at * FRAME_MS + (at % 7) * 60
      expect(backlog.take(videoFrame(at), nowMs)).toEqual([videoFrame(at)])
    }
  })

  it('after a hiccup is its last keyframe and what follows, made just now: a player is not behind by the hiccup', () => {
    const backlog = begun()
    const backMs = 9000
    // Eight seconds at once, of which the frames from 200 on are those since the last keyframe.
    const passed = feed(backlog, 25, 229, backMs, 1)
    const nowMs = passed[0]?.nowMs ?? 0
    expect(nowMs).toBeLessThan(backMs + 250)
    const first = passed[0]
    expect(first).toMatchObject({ key: true })
    expect(passed.filter(({ key }) => key)).toHaveLength(1)
    // All of the group is as late as its last frame, and each is after the one before.
    const due = passed.filter((one) => one.nowMs === nowMs)
    expect(due.length).toBeGreaterThan(15)
    for (const { timeMs } of due) expect(nowMs - timeMs).toBeLessThan(250)
    expect(due.map(({ timeMs }) => timeMs)).toEqual(due.map(({ timeMs }) => timeMs).toSorted((a, b) => a - b))
    expect(new Set(due.map(({ timeMs }) => timeMs)).size).toBe(due.length)
    // And then as it comes.
    expect(feed(backlog, 230, 400, 230 * FRAME_MS, FRAME_MS)).toHaveLength(170)
  })

  it('is waited for where it takes a while, as when it has to be converted: the longer the hiccup the longer', () => {
    // Eight seconds at five times their pace.
    const passed = feed(begun(), 25, 290, 9000, FRAME_MS / 5)
    expect(passed[0]?.nowMs).toBeGreaterThan(10_000)
    for (const { nowMs, timeMs } of passed) expect(nowMs - timeMs).toBeLessThan(250)
  })

  it('after a hiccup without a keyframe in it is all of it, because a decoder needs it', () => {
    const passed = feed(begun(), 25, 45, 1800, 1)
    expect(passed).toHaveLength(20)
    expect(new Set(passed.map(({ nowMs }) => nowMs)).size).toBeLessThan(5)
  })

  it('is dropped too where it came too slowly at first and then at once', () => {
    const backlog = begun()
    const trickled = feed(backlog, 25, 75, 1000, 4 * FRAME_MS)
    expect(trickled).toHaveLength(50)
    const passed = feed(backlog, 75, 228, 9000, 0.5)
    expect(passed.filter(({ key }) => key).length).toBeLessThanOrEqual(1)
    expect(passed.length).toBeLessThan(100)
  })

  it('goes on after a pause that its own clock did not count', () => {
    const backlog = begun()
    const passed = feed(backlog, 25, 400, 9000, FRAME_MS)
    expect(passed[0]?.nowMs).toBeLessThan(9300)
    expect(passed.length).toBeGreaterThan(370)
    const late = passed.slice(100).map(({ nowMs, timeMs }) => nowMs - timeMs)
    expect(new Set(late).size).toBe(1)
  })

  it('is held back for a moment only where it is worked off slowly', () => {
    const passed = feed(begun(), 25, 700, 9000, FRAME_MS / 1.5)
    const steps = passed.slice(1).map(({ nowMs }, n) => nowMs - (passed[n]?.nowMs ?? 0))
    expect(passed[0]?.nowMs).toBeLessThan(9300)
    expect(Math.max(...steps)).toBeLessThan(300)
  })

  it('goes on at once with another clock', () => {
    const backlog = begun()
    for (const at of [1e6, 1e6 + 1, 3]) expect(backlog.take(videoFrame(at), 5000 + (at % 1000))).toHaveLength(1)
  })

  it('comes in order, with times that never go back, and is not held for long, whatever comes', () => {
    const step = fc.record({ waitMs: fc.integer({ min: 0, max: 3000 }), count: fc.integer({ min: 1, max: 120 }) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30, size: 'max' }), (steps) => {
        const backlog = new Backlog()
        let [nowMs, at, lastUs, heldSinceMs] = [0, 0, -1, Number.NaN]
        for (const { waitMs, count } of steps) {
          nowMs += waitMs
          for (let n = 0; n < count; n++, nowMs += 1) {
            const passed = backlog.take(videoFrame(at++), nowMs)
            for (const { timeUs } of passed) {
              expect(timeUs).toBeGreaterThan(lastUs)
              lastUs = timeUs
            }
            if (passed.length > 0) heldSinceMs = Number.NaN
            else if (Number.isNaN(heldSinceMs)) heldSinceMs = nowMs
            else expect(nowMs - heldSinceMs).toBeLessThanOrEqual(3000)
          }
        }
      }),
      { numRuns: 30 },
    )
  })

  it('is bounded: a publisher of a single keyframe that sends all at once is passed on', () => {
    const backlog = begun()
    const counts = Array.from(
      { length: 60 },
      (_, n) => backlog.take({ ...videoFrame(25 + n, 500_000), key: false }, 30_000).length,
    )
    expect(Math.max(...counts)).toBeLessThanOrEqual(41)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(40)
  })
})

describe('a feed of a publisher that was held up', () => {
  function feedAt() {
    const clock = { nowMs: 0 }
    const sources: Source[] = []
    const options = { sessionId: 'f', sourceId: null, createFanout: createJsFanout, ended: () => undefined }
    const frames = new FrameFeed({ ...options, ready: (source) => sources.push(source), now: () => clock.nowMs })
    frames.tracks([{ kind: 'video', codec: 'h264', width: 640, height: 360, config: new Uint8Array() }])
    const track = sources[0]?.layers[0]?.track
    const sent: { nowMs: number; timestamp: number; isKeyStart: boolean }[] = []
    track?.listen(({ timestamp, isKeyStart }, nowMs) => sent.push({ nowMs, timestamp, isKeyStart }))
    return { clock, frames, sent }
  }

  it('sends viewers what came since its last keyframe, 60 packets every 20 ms, and nothing of before', () => {
    const { clock, frames, sent } = feedAt()
    for (let at = 0; at < 25; at++) {
      clock.nowMs = at * FRAME_MS
      frames.frame(videoFrame(at, 3000))
      expect(sent).toHaveLength((at + 1) * 3)
    }
    sent.length = 0
    // From 1 s to 9.8 s at once: 20 frames since the last keyframe.
    clock.nowMs = 9800
    for (let at = 25; at < 246; at++) frames.frame(videoFrame(at, 3000))
    for (; clock.nowMs < 10_000; clock.nowMs += 20) frames.pace(clock.nowMs)
    expect(sent.filter(({ isKeyStart }) => isKeyStart)).toHaveLength(1)
    expect(sent[0]?.isKeyStart).toBe(true)
    expect(sent.length).toBeLessThanOrEqual(46 * 3)
    const atOnce = Object.values(Object.groupBy(sent, ({ nowMs }) => String(nowMs))).map((one) => one?.length ?? 0)
    expect(Math.max(...atOnce)).toBeLessThan(66)
    for (const { nowMs, timestamp } of sent) expect(nowMs - timestamp / 90).toBeLessThan(300)
    frames.frame(videoFrame(250, 3000))
    expect(sent.at(-1)).toMatchObject({ nowMs: 10_000, timestamp: 900_000 })
  })
})
