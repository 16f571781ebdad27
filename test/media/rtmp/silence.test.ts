import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import type { Frame, FrameSink, TrackInfo } from '../../../src/media/frame.ts'
import { WithSilence } from '../../../src/media/rtmp/silence.ts'
import { AAC_CONFIG, AVC_CONFIG } from './media.ts'

const VIDEO: TrackInfo = { kind: 'video', codec: 'h264', width: 320, height: 240, config: AVC_CONFIG }
const AUDIO: TrackInfo = { kind: 'audio', codec: 'aac', sampleRate: 44_100, channels: 2, config: AAC_CONFIG }

const videoAt = (timeUs: number): Frame => ({
  kind: 'video',
  timeUs,
  decodeTimeUs: timeUs,
  key: true,
  data: new Uint8Array(5),
})

function begin(...tracks: readonly TrackInfo[]) {
  const frames: Frame[] = []
  const lists: string[][] = []
  const out: FrameSink = {
    tracks: (list) => lists.push(list.map(({ codec }) => codec)),
    frame: (frame) => frames.push(frame),
    end: () => undefined,
  }
  const clock = new ManualClock()
  const sink = new WithSilence(out, clock)
  sink.tracks(tracks)
  const sounds = (): number[] => frames.filter(({ kind }) => kind === 'audio').map(({ timeUs }) => timeUs)
  return { sink, clock, frames, lists, sounds }
}

describe('video without audio', () => {
  test('gets a track of silence, with frames up to each picture', () => {
    const { sink, lists, sounds } = begin(VIDEO)
    for (const timeUs of [5_000_000, 5_040_000, 5_080_000]) sink.frame(videoAt(timeUs))
    expect(lists).toEqual([['h264', 'aac']])
    expect(sounds()).toEqual([5_000_000, 5_023_220, 5_046_440, 5_069_660])
  })

  test('has as much silence as video after an hour', () => {
    const { sink, clock, sounds } = begin(VIDEO)
    for (let at = 0; at <= 90_000; at++) {
      // Its clock is a little fast.
      if (at % 25 === 0) clock.advance(991)
      sink.frame(videoAt(at * 40_000))
    }
    expect(sounds()).toHaveLength(Math.floor((3600 * 44_100) / 1024) + 1)
  })

  test('whose times run faster than time gets no more silence than there was time for, and half a minute', () => {
    const { sink, clock, sounds } = begin(VIDEO)
    for (let at = 0; at < 1000; at++) sink.frame(videoAt(at * 900_000))
    const atOnce = sounds().length
    expect(Math.abs(atOnce - (30 * 44_100) / 1024)).toBeLessThan(2)
    clock.advance(10_000)
    for (let at = 1000; at < 2000; at++) sink.frame(videoAt(at * 900_000))
    expect(Math.abs(sounds().length - atOnce - (10 * 44_100) / 1024)).toBeLessThan(6)
  })

  test('has no silence in a gap, nor after a jump back', () => {
    const { sink, sounds } = begin(VIDEO)
    for (const timeUs of [0, 60_000_000, 1_000_000]) sink.frame(videoAt(timeUs))
    expect(sounds()).toEqual([0, 60_000_000, 1_000_000])
  })
})

test('media with audio, and audio alone, pass as they are', () => {
  for (const tracks of [[VIDEO, AUDIO], [AUDIO]]) {
    const { sink, lists, sounds } = begin(...tracks)
    sink.frame(videoAt(0))
    sink.frame(videoAt(40_000))
    expect([lists, sounds()]).toEqual([[tracks.map(({ codec }) => codec)], []])
  }
})
