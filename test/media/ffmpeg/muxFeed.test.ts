import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Frame, TrackInfo } from '../../../src/media/frame.ts'
import { MuxFeed } from '../../../src/media/ffmpeg/muxFeed.ts'

const VIDEO: TrackInfo = { kind: 'video', codec: 'h264', width: 640, height: 360, config: Uint8Array.of(1) }
const AUDIO: TrackInfo = { kind: 'audio', codec: 'opus', sampleRate: 48_000, channels: 2, config: new Uint8Array() }

let count = 0
/** Each frame holds its own number, to identify it. */
function frame(kind: Frame['kind'], key: boolean): Frame {
  const data = new Uint8Array(200)
  new DataView(data.buffer).setUint32(0, (count += 1))
  return { kind, key, timeUs: count * 1000, decodeTimeUs: count * 1000, data }
}

const numberOf = ({ data }: Frame): number => new DataView(data.buffer).getUint32(0)

/** A reader that takes what the test says, and notes the numbers of the frames that it got. */
function reader(takes: () => boolean = () => true) {
  const got: number[] = []
  const begun: (readonly TrackInfo[])[] = []
  const feed = new MuxFeed({
    begin: (tracks) => begun.push(tracks),
    end: () => undefined,
    write: (bytes) => {
      // A header, which begins with the id of EBML, is not a frame.
      if (bytes[0] === 0x1a) return true
      if (!takes()) return false
      const payload = bytes.subarray(bytes.length - 200)
      got.push(new DataView(payload.buffer, payload.byteOffset).getUint32(0))
      return true
    },
  })
  return { feed, got, begun }
}

test('it begins with a video keyframe, and with audio when there is no video', () => {
  const { feed, got } = reader()
  feed.tracks([VIDEO, AUDIO])
  const [audio, delta, key, after] = [
    frame('audio', true),
    frame('video', false),
    frame('video', true),
    frame('audio', true),
  ]
  for (const each of [audio, delta, key, after]) feed.frame(each)
  expect(got).toEqual([numberOf(key), numberOf(after)])
  const radio = reader()
  radio.feed.tracks([AUDIO])
  radio.feed.frame(audio)
  expect(radio.got).toEqual([numberOf(audio)])
})

test('it waits for the configuration of H.264', () => {
  const { feed, got, begun } = reader()
  feed.tracks([{ ...VIDEO, config: new Uint8Array() }])
  feed.frame(frame('video', true))
  expect([got, begun]).toEqual([[], []])
  feed.tracks([VIDEO])
  feed.frame(frame('video', true))
  expect(begun).toEqual([[VIDEO]])
})

test('only a change of codec, configuration or size begins a new stream', () => {
  const { feed, begun } = reader()
  feed.tracks([VIDEO, AUDIO])
  feed.frame(frame('video', true))
  feed.tracks([{ ...VIDEO, width: 0, height: 0 }, AUDIO])
  feed.frame(frame('video', true))
  expect(begun).toHaveLength(1)
  feed.tracks([{ ...VIDEO, config: Uint8Array.of(2) }, AUDIO])
  feed.frame(frame('video', false))
  expect(begun).toHaveLength(1)
  feed.frame(frame('video', true))
  expect(begun).toHaveLength(2)
})

test('after a jump of the times the next keyframe begins a new stream; rare frames and a camera that is off do not', () => {
  const begun: number[] = []
  let written = 0
  let atMs = 0
  const feed = new MuxFeed({
    begin: () => begun.push(atMs),
    end: () => undefined,
    write: () => {
      written += 1
      return true
    },
  })
  const send = (kind: Frame['kind'], untilMs: number, stepMs: number, key: boolean): void => {
    for (; atMs < untilMs; atMs += stepMs)
      feed.frame({ kind, key, timeUs: atMs * 1000, decodeTimeUs: atMs * 1000, data: new Uint8Array(1) })
  }
  feed.tracks([VIDEO, AUDIO])
  send('video', 1000, 40, true)
  send('audio', 40_000, 20, true)
  send('video', 41_000, 40, true)
  expect(begun).toEqual([0])
  // An hour ahead: what comes before the next keyframe is left out, so that it does not make the first stream longer.
  atMs = 3_600_000
  written = 0
  send('video', 3_601_000, 40, false)
  send('audio', 3_601_100, 20, true)
  expect([begun, written]).toEqual([[0], 0])
  send('video', 3_602_000, 40, true)
  expect(begun).toEqual([0, 3_601_100])
  atMs = 5000
  send('video', 6000, 40, true)
  expect(begun).toEqual([0, 3_601_100, 5000])
  // A frame every fifteen seconds: the first of them looks like a jump.
  atMs = 20_960
  send('video', 110_000, 15_000, true)
  send('video', 111_000, 40, true)
  expect(begun).toEqual([0, 3_601_100, 5000, 20_960])
})

test('however a slow reader refuses, no frame is written without its reference frames', () => {
  const steps = fc.array(
    fc.record({ kind: fc.constantFrom('video' as const, 'audio' as const), key: fc.boolean(), takes: fc.boolean() }),
    { maxLength: 60, size: 'max' },
  )
  fc.assert(
    fc.property(steps, (all) => {
      let takes = true
      const { feed, got } = reader(() => takes)
      feed.tracks([VIDEO, AUDIO])
      /** Numbers of the video frames since the last keyframe; a frame needs all before it in its group. */
      let group: number[] = []
      for (const step of all) {
        takes = step.takes
        const next = frame(step.kind, step.kind === 'audio' || step.key)
        feed.frame(next)
        if (step.kind !== 'video') continue
        if (next.key) group = []
        const wasWritten = got.includes(numberOf(next))
        if (wasWritten) expect(group.every((earlier) => got.includes(earlier))).toBe(true)
        group.push(numberOf(next))
      }
    }),
  )
})

test('frames that a slow reader misses are counted up to the next keyframe, with their time, but none before the first', () => {
  let takes = true
  const { feed } = reader(() => takes)
  feed.tracks([VIDEO, AUDIO])
  feed.frame(frame('video', false))
  feed.frame(frame('video', true))
  feed.frame(frame('audio', true))
  expect([feed.dropped, feed.droppedUs, feed.dueUs]).toEqual([0, 0, 0])
  takes = false
  feed.frame(frame('video', false))
  takes = true
  feed.frame(frame('audio', true))
  feed.frame(frame('video', false))
  expect([feed.dropped, feed.droppedUs, feed.dueUs]).toEqual([3, 3000, 0])
  feed.frame(frame('video', true))
  expect([feed.dropped, feed.droppedUs, feed.dueUs]).toEqual([3, 3000, 0])
})

test('what a process can have finished ends before the latest three frames of video, however far apart they are', () => {
  const { feed } = reader()
  feed.tracks([VIDEO, AUDIO])
  const sent = [true, false, false, false, false].map((key) => {
    const video = frame('video', key)
    for (const each of [video, frame('audio', true), frame('audio', true)]) feed.frame(each)
    return { timeUs: video.timeUs, dueUs: feed.dueUs }
  })
  const [first = 0, second = 0] = sent.map(({ timeUs }) => timeUs)
  expect(sent.map(({ dueUs }) => dueUs)).toEqual([0, 0, 0, 0, second - first])
  const radio = reader().feed
  radio.tracks([AUDIO])
  for (let count = 0; count < 5; count++) radio.frame(frame('audio', true))
  expect(radio.dueUs).toBe(1000)
})
