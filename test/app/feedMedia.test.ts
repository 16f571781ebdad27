import { beforeEach, expect, test } from 'vitest'
import { FeedMedia, type FeedMediaOptions, type Fit } from '../../src/app/feedMedia.ts'
import { systemClock } from '../../src/base/clock.ts'
import { type WebRtcMedia, webRtcMedia } from '../../src/media/convert/opus.ts'
import type { Ffmpeg } from '../../src/media/ffmpeg/ffmpeg.ts'
import type { VideoCodec } from '../../src/media/codecs/codecs.ts'
import type { TrackInfo } from '../../src/media/frame.ts'
import { Hub } from '../../src/media/hub.ts'
import { silentLog } from '../support/log.ts'

const videoOf = (codec: VideoCodec): TrackInfo => ({
  kind: 'video',
  codec,
  width: 64,
  height: 64,
  config: new Uint8Array(),
})

let isFree: boolean
let seats: number
let processes: number
let source: Hub
let media: FeedMedia
let shared: WebRtcMedia | undefined
let options: Omit<FeedMediaOptions, 'source' | 'shared'>

beforeEach(() => {
  ;[isFree, seats, processes] = [false, 0, 0]
  const process = { write: () => true, end: () => undefined, stop: async () => undefined }
  const run = () => {
    processes += 1
    return { ok: true, value: { ...process, exited: new Promise(() => undefined) } }
  }
  source = new Hub()
  shared = undefined
  options = {
    ffmpeg: { run } as unknown as Ffmpeg,
    clock: systemClock,
    log: silentLog,
    name: 'test',
    encodingRoom: { isFor: () => isFree, reserve: () => ((seats += 1), () => void (seats -= 1)) },
  }
  media = new FeedMedia({ ...options, source, shared: () => shared })
})

function subscribe(fit: Fit) {
  const [codecs, problems]: [string[], string[]] = [[], []]
  const tracks = (all: readonly TrackInfo[]): void => void codecs.push(all.map(({ codec }) => codec).join())
  const sink = { tracks, frame: () => undefined, end: () => undefined }
  const leave = media.subscribe(fit, sink, (problem) => void problems.push(problem))
  return { codecs, problems, leave }
}

function begin(codec: VideoCodec): void {
  source.tracks([videoOf(codec)])
  for (const timeUs of [0, 40_000])
    source.frame({ kind: 'video', key: timeUs === 0, timeUs, decodeTimeUs: timeUs, data: Buffer.alloc(100) })
}

test.each(['webRtc', 'plain'] as const)(
  'a target that gets video as H.264 (%s) is told that this machine has no room, takes room when there is some, and gives it back',
  (fit) => {
    begin('vp8')
    const refused = subscribe(fit)
    expect([refused.problems, refused.codecs, processes, seats]).toEqual([
      ['this machine has no room to encode its video now'],
      [],
      0,
      0,
    ])
    refused.leave()
    isFree = true
    const target = subscribe(fit)
    expect([target.problems, processes, seats]).toEqual([[], 1, 1])
    // Another one shares the process.
    isFree = false
    const another = subscribe(fit)
    expect([another.problems, processes, seats]).toEqual([[], 1, 1])
    target.leave()
    another.leave()
    expect(seats).toBe(0)
  },
)

test('a target over WebRTC shares the conversion of viewers', () => {
  isFree = true
  shared = webRtcMedia(source, options)
  shared.media.subscribe({ tracks: () => undefined, frame: () => undefined, end: () => undefined })
  begin('vp8')
  const target = subscribe('webRtc')
  expect([target.problems, processes, seats]).toEqual([[], 1, 1])
})

test('other codecs of the media are told, and the same ones are not', () => {
  begin('vp8')
  let changes = 0
  const unwatch = media.onOtherCodecs(() => void (changes += 1))
  source.tracks([{ ...videoOf('vp8'), config: Buffer.of(1) }])
  expect(changes).toBe(0)
  source.tracks([videoOf('h264')])
  expect(changes).toBe(1)
  unwatch()
  source.tracks([videoOf('vp8')])
  expect(changes).toBe(1)
})

test('a target that takes video as it is needs no room', () => {
  begin('hevc')
  const target = subscribe('wide')
  expect([target.problems, target.codecs, seats]).toEqual([[], ['hevc'], 0])
})
