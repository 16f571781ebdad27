import { expect, test } from 'vitest'
import type { Frame, TrackInfo } from '../../../src/media/frame.ts'
import { framePipe } from '../../../src/media/relay/processes/framePipe.ts'
import type { Media } from '../../../src/media/relay/processes/messages.ts'

const VIDEO: TrackInfo = { kind: 'video', codec: 'vp8', width: 640, height: 360, config: new Uint8Array(0) }
const AUDIO: TrackInfo = { kind: 'audio', codec: 'opus', sampleRate: 48_000, channels: 2, config: new Uint8Array(0) }

const frame = (kind: Frame['kind'], key: boolean, layer?: string): Frame => ({
  kind,
  key,
  timeUs: 0,
  decodeTimeUs: 0,
  data: Buffer.alloc(1),
  ...(layer !== undefined && { layer }),
})

/** A pipe into a process that takes nothing until `drain` is called. */
function stuck(tracks: readonly TrackInfo[]) {
  const sent: Media[] = []
  const waiting: (() => void)[] = []
  const pipe = framePipe('s', (message, done) => {
    sent.push(message)
    waiting.push(done)
  })
  pipe.tracks(tracks)
  const frames = () => sent.filter(({ kind }) => kind === 'frame').length
  const drain = () => {
    for (const done of waiting.splice(0)) done()
  }
  return { pipe, frames, drain, sent }
}

test('a process that takes nothing gets no more than a bounded number of frames, and goes on with a keyframe', () => {
  const { pipe, frames, drain } = stuck([VIDEO, AUDIO])
  for (let at = 0; at < 5000; at++) pipe.frame(frame('video', at % 50 === 0))
  const most = frames()
  expect(most).toBeLessThan(1000)
  drain()
  pipe.frame(frame('video', false))
  pipe.frame(frame('audio', true))
  expect(frames()).toBe(most)
  pipe.frame(frame('video', true))
  pipe.frame(frame('video', false))
  expect(frames()).toBe(most + 2)
})

test('audio alone goes on as soon as there is room, and the end is never dropped', () => {
  const { pipe, frames, drain, sent } = stuck([AUDIO])
  for (let at = 0; at < 5000; at++) pipe.frame(frame('audio', true))
  const most = frames()
  expect(most).toBeLessThan(1000)
  drain()
  pipe.frame(frame('audio', true))
  expect(frames()).toBe(most + 1)
  for (let at = 0; at < 5000; at++) pipe.frame(frame('audio', true))
  pipe.end()
  expect(sent.at(-1)).toMatchObject({ kind: 'end', sessionId: 's' })
})

test('800 frames may wait; what follows is dropped up to a keyframe, and audio with it', () => {
  const { pipe, frames, drain } = stuck([VIDEO, AUDIO])
  pipe.frame(frame('video', true))
  for (let count = 2; count <= 800; count++) pipe.frame(frame(count % 2 === 0 ? 'audio' : 'video', false))
  expect(frames()).toBe(800)
  pipe.frame(frame('video', true))
  expect(frames()).toBe(800)
  drain()
  pipe.frame(frame('video', false))
  pipe.frame(frame('audio', true))
  expect(frames()).toBe(800)
  pipe.frame(frame('video', true))
  pipe.frame(frame('audio', true))
  expect(frames()).toBe(802)
  drain()
  for (let count = 1; count <= 801; count++) pipe.frame(frame('video', false))
  expect(frames()).toBe(1602)
})

test('frames that come before any keyframe pass: their source decides what comes first', () => {
  const { pipe, frames } = stuck([VIDEO])
  pipe.frame(frame('video', false))
  expect(frames()).toBe(1)
})

test('each layer goes on with a keyframe of its own, and audio with that of the main one', () => {
  const { pipe, frames, drain } = stuck([{ ...VIDEO, layer: '0' }, { ...VIDEO, layer: '1' }, AUDIO])
  for (let at = 0; at < 1000; at++) pipe.frame(frame('video', at === 0, String(at % 2)))
  expect(frames()).toBe(800)
  drain()
  const passes = (one: Frame): boolean => {
    const before = frames()
    pipe.frame(one)
    return frames() > before
  }
  expect([passes(frame('video', true, '1')), passes(frame('video', false, '1'))]).toEqual([true, true])
  expect([passes(frame('video', false, '0')), passes(frame('audio', true))]).toEqual([false, false])
  expect([passes(frame('video', true, '0')), passes(frame('audio', true))]).toEqual([true, true])
})
