import { beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { webRtcMedia, type WebRtcMedia } from '../../../src/media/convert/opus.ts'
import type { Ffmpeg } from '../../../src/media/ffmpeg/ffmpeg.ts'
import { type FrameSink, rtpAudioTrack, type TrackInfo } from '../../../src/media/frame.ts'
import { Hub } from '../../../src/media/hub.ts'
import { silentLog } from '../../support/log.ts'

/** Profile main, which may have B-frames. */
const VIDEO: TrackInfo = {
  kind: 'video',
  codec: 'h264',
  width: 160,
  height: 90,
  config: Uint8Array.of(1, 77, 0, 30, 255),
}
const AUDIO = rtpAudioTrack('opus', 48_000)

let isFree: boolean
/** Widths of what has room now. */
let seats: number[]
/** Names of processes. */
let started: string[]
let warnings: string[]
let hub: Hub
let converted: WebRtcMedia
/** What the announcement says: the codecs. */
let said: string[]
let atMs: number

beforeEach(() => {
  isFree = true
  ;[seats, started, warnings, said] = [[], [], [], []]
  atMs = 0
  hub = new Hub()
  const process = { write: () => true, exited: new Promise(() => undefined), stop: async () => undefined }
  const run = ({ name }: { name: string }) => {
    started.push(name)
    return { ok: true, value: process }
  }
  converted = webRtcMedia(hub, {
    ffmpeg: { run } as unknown as Ffmpeg,
    clock: systemClock,
    log: { ...silentLog, warn: (_, message) => void warnings.push(message) },
    name: 'test',
    encodingRoom: {
      isFor: () => isFree,
      reserve: ({ width }) => {
        seats.push(width)
        return () => void seats.splice(seats.indexOf(width), 1)
      },
    },
  })
  converted.media.announce((tracks) => void said.push(codecsOf(tracks)))
  hub.tracks([VIDEO, AUDIO])
})

const codecsOf = (tracks: readonly TrackInfo[]): string => tracks.map(({ codec }) => codec).join()

function group(bFrames = true): void {
  for (const [at, laterMs] of (bFrames ? [40, 120, 0] : [40, 40, 40]).entries()) {
    const times = { timeUs: (atMs + laterMs) * 1000, decodeTimeUs: atMs * 1000 }
    hub.frame({ kind: 'video', key: at === 0, data: Uint8Array.of(0), ...times })
    atMs += 40
    hub.frame({ kind: 'audio', key: true, data: Uint8Array.of(0), timeUs: atMs * 1000, decodeTimeUs: atMs * 1000 })
  }
}

function listener(): FrameSink & { heard: string[]; kinds: Set<string> } {
  const [heard, kinds]: [string[], Set<string>] = [[], new Set()]
  const tracks = (all: readonly TrackInfo[]): void => void heard.push(codecsOf(all))
  return { heard, kinds, tracks, frame: ({ kind }) => void kinds.add(kind), end: () => undefined }
}

test('video with B-frames is announced while there is room to encode it, and else nothing is', () => {
  isFree = false
  group(false)
  expect([said, converted.lacksRoom]).toEqual([['h264,opus'], false])
  group()
  expect([said.slice(1), converted.lacksRoom, warnings]).toEqual([[''], true, [expect.stringContaining('no room')]])
  isFree = true
  group()
  expect([said.slice(2), converted.lacksRoom]).toEqual([['h264,opus'], false])
  isFree = false
  group()
  group()
  expect([said.slice(3), converted.lacksRoom, warnings.length]).toEqual([[''], true, 1])
})

test('a subscriber takes the room until it leaves, and the announcement stays meanwhile', () => {
  group()
  const leave = converted.media.subscribe(listener())
  isFree = false
  group()
  expect([seats, started, said]).toEqual([[160], ['video for WebRTC test'], ['h264,opus', 'h264,opus']])
  leave()
  expect(seats).toEqual([])
  isFree = true
  group()
  // The listener has heard what the subscriber got meanwhile.
  expect(said.slice(2)).toEqual(['h264,opus'])
  isFree = false
  group()
  expect(said.slice(3)).toEqual([''])
})

test('a subscriber that leaves is told the tracks again while another one stays', () => {
  group()
  const leave = converted.media.subscribe(listener())
  const target = listener()
  converted.media.subscribe(target)
  group()
  leave()
  expect(seats).toEqual([160])
  group()
  expect([said, started.length]).toEqual([['h264,opus', 'h264,opus', 'h264,opus'], 1])
})

test('a subscriber that takes the room lacks none, before the announcement has heard of it', () => {
  isFree = false
  group()
  group()
  expect(converted.lacksRoom).toBe(true)
  isFree = true
  converted.media.subscribe(listener())
  expect(converted.lacksRoom).toBe(false)
})

test('a subscriber gets nothing while the room is taken, also no audio, and the video from the next keyframe with room', () => {
  isFree = false
  const subscriber = listener()
  converted.media.subscribe(subscriber)
  group()
  group()
  expect([subscriber.heard, started]).toEqual([[''], []])
  isFree = true
  group()
  expect([seats, started]).toEqual([[160], ['video for WebRTC test']])
})

test('the room is free again when other tracks need none, and when the conversion is stopped', async () => {
  converted.media.subscribe(listener())
  group()
  expect(seats).toEqual([160])
  hub.tracks([{ ...VIDEO, width: 320 }, AUDIO])
  group(false)
  expect(seats).toEqual([])
  group()
  expect(seats).toEqual([320])
  await converted.stop()
  expect(seats).toEqual([])
})
