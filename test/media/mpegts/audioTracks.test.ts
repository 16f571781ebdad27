import { expect, test } from 'vitest'
import { AAC, adts, deltaFrame, H264, keyframe, pes, TsMuxer, VIDEO_PID, type WrittenStream } from './muxer.ts'
import { Seen, ticks } from './seen.ts'

const [ONE, TWO, THREE] = [0x101, 0x102, 0x103]
const VIDEO: WrittenStream = { type: H264, pid: VIDEO_PID }
const MP2 = 3
const audioAt = (pid: number, type = AAC): WrittenStream => ({ type, pid })

/** A publisher with audio tracks that are told apart by their bytes. */
class Publisher extends TsMuxer {
  audioOf(pid: number, ms: number): Buffer {
    return this.packets(pid, pes(adts(50, pid & 255), { id: 0xc0, presentation: ticks(ms), hasLength: true }))
  }
}

/** Which track each audio frame is of, by its index and by its bytes. */
const indexed = (seen: Seen): string[] => [
  ...new Set(
    seen.frames.flatMap(({ kind, audioIndex = 0, data }) => (kind === 'audio' ? [`${audioIndex}:${data[0]}`] : [])),
  ),
]

test('audio tracks have the indexes of their PIDs in the list, and what is not listed is left out', () => {
  const [seen, ts] = [new Seen([THREE, ONE]), new Publisher()]
  seen.take(ts.tables([VIDEO, audioAt(ONE), audioAt(TWO), audioAt(THREE)]), ts.video(keyframe(), ticks(0)))
  for (let at = 1; at < 5; at++)
    seen.take(...[ONE, TWO, THREE].map((pid) => ts.audioOf(pid, at * 21)), ts.video(deltaFrame(), ticks(at * 40)))
  expect(indexed(seen).toSorted()).toEqual([`0:${THREE & 255}`, `1:${ONE & 255}`])
  // They begin together, in the order of the list.
  expect(
    seen.lists.map((tracks) => tracks.map((track) => (track.kind === 'audio' ? (track.audioIndex ?? 0) : 'v'))),
  ).toEqual([['v', 0, 1]])
  expect(seen.leftOut).toEqual([])
})

test('a PID that the program does not have, and one of another codec, are named, and the rest begins after a moment', () => {
  const [seen, ts] = [new Seen([0x1ff, TWO, THREE]), new Publisher()]
  seen.take(ts.tables([VIDEO, audioAt(TWO), audioAt(THREE, MP2)]), ts.video(keyframe(), ticks(0)))
  for (let at = 1; at < 5; at++) seen.take(ts.audioOf(TWO, at * 21), ts.video(deltaFrame(), ticks(at * 40)))
  expect(seen.leftOut).toEqual([
    'The audio track with PID 511 is none of the program',
    'The audio track with PID 259 has codec MPEG audio (MP2, MP3); send AAC or Opus',
  ])
  expect([indexed(seen), seen.order[0]]).toEqual([[`1:${TWO & 255}`], 'h264+aac'])
})

test('a listed track that sends nothing delays the others for a second of media at most', () => {
  const [seen, ts] = [new Seen([ONE, TWO]), new Publisher()]
  seen.take(ts.tables([VIDEO, audioAt(ONE), audioAt(TWO)]), ts.video(keyframe(), ticks(0)))
  const begins = (untilMs: number): boolean => {
    for (let ms = untilMs - 880; ms < untilMs; ms += 40)
      seen.take(ts.audioOf(ONE, ms), ts.video(deltaFrame(), ticks(ms)))
    return seen.frames.length > 0
  }
  expect([begins(920), begins(1800)]).toEqual([false, true])
  expect(seen.lists.map((tracks) => tracks.length)).toEqual([2])
})

test('a track that leaves the program is no track any more, and has its index again when it comes back', () => {
  const [seen, ts] = [new Seen([ONE, TWO]), new Publisher()]
  const play = (from: number, pids: readonly number[]): void => {
    for (let ms = from; ms < from + 200; ms += 40)
      seen.take(...pids.map((pid) => ts.audioOf(pid, ms)), ts.video(ms === from ? keyframe() : deltaFrame(), ticks(ms)))
  }
  seen.take(ts.tables([VIDEO, audioAt(ONE), audioAt(TWO)]))
  play(0, [ONE, TWO])
  seen.take(ts.tables([VIDEO, audioAt(TWO)], 1))
  play(200, [TWO])
  seen.take(ts.tables([VIDEO, audioAt(ONE), audioAt(TWO)], 2))
  play(400, [ONE, TWO])
  const lists = seen.lists.map((tracks) =>
    tracks.flatMap((track) => (track.kind === 'audio' ? [track.audioIndex ?? 0] : [])),
  )
  expect(lists).toEqual([[0, 1], [1], [0, 1]])
})

test('all tracks follow the first one whose clock jumps, so that they stay in sync', () => {
  const [seen, ts] = [new Seen([ONE, TWO, THREE]), new Publisher()]
  seen.take(ts.tables([VIDEO, audioAt(ONE), audioAt(TWO), audioAt(THREE)]))
  const play = (nowMs: number, ms: number): void => {
    seen.nowMs = nowMs
    seen.take(...[TWO, THREE, ONE].map((pid) => ts.audioOf(pid, ms)), ts.video(keyframe(), ticks(ms)))
  }
  for (const [nowMs, ms] of [
    [0, 50_000],
    [40, 50_040],
    [80, 10],
    [120, 50],
    [160, 90],
  ] as const)
    play(nowMs, ms)
  const after = (index: number) =>
    seen.frames
      .filter(({ kind, audioIndex = 0 }) => kind === 'audio' && audioIndex === index)
      .slice(-2)
      .map(({ timeUs }) => timeUs)
  expect([after(1), after(2)]).toEqual([after(0), after(0)])
})
