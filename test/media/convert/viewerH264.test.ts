import { beforeEach, expect, test } from 'vitest'
import { ENDLESS_ROOM } from '../../../src/media/convert/encodingRoom.ts'
import { ViewerH264 } from '../../../src/media/convert/viewerH264.ts'
import type { FrameSink, TrackInfo } from '../../../src/media/frame.ts'
import { Hub } from '../../../src/media/hub.ts'

const AUDIO: TrackInfo = { kind: 'audio', codec: 'pcma', sampleRate: 8000, channels: 1, config: new Uint8Array() }
const videoOf = (codec: 'hevc' | 'h264', width = 0): TrackInfo => ({
  kind: 'video',
  codec,
  width,
  height: (width * 9) / 16,
  config: Uint8Array.of(1),
})

let room: boolean
let reserved: number[]
let converting: number
let h264: ViewerH264
/** What the announcement says: the codecs. */
let said: string[]

beforeEach(() => {
  room = true
  reserved = []
  converting = 0
  said = []
  h264 = new ViewerH264({
    converted: {
      subscribe: () => {
        converting += 1
        return () => void (converting -= 1)
      },
    },
    room: {
      isFor: () => room,
      reserve: ({ width }) => {
        reserved.push(width)
        return () => void reserved.splice(reserved.indexOf(width), 1)
      },
    },
  })
  h264.announce((tracks) => void said.push(tracks.map(({ codec }) => codec).join()))
})

function sink(): FrameSink & { heard: (readonly TrackInfo[])[] } {
  const heard: (readonly TrackInfo[])[] = []
  return { heard, tracks: (tracks) => void heard.push(tracks), frame: () => undefined, end: () => undefined }
}

test('is offered for what is not H.264, as long as there is room', () => {
  expect([said, h264.lacksRoom]).toEqual([[''], false])
  h264.tracks([videoOf('h264'), AUDIO])
  h264.tracks([videoOf('hevc'), AUDIO])
  h264.tracks([videoOf('hevc', 1280), AUDIO])
  expect(said).toEqual(['', 'h264,opus'])
  room = false
  h264.look()
  h264.look()
  expect([said.slice(2), h264.lacksRoom]).toEqual([[''], true])
  room = true
  h264.look()
  expect([said.slice(3), h264.lacksRoom]).toEqual([['h264,opus'], false])
})

test('takes its room while it is subscribed to, and stays offered meanwhile', () => {
  h264.tracks([videoOf('hevc', 1280), AUDIO])
  const leave = h264.subscribe(sink())
  room = false
  h264.look()
  expect([converting, reserved, said]).toEqual([1, [1280], ['', 'h264,opus']])
  leave()
  expect([converting, reserved]).toEqual([0, []])
  h264.look()
  expect(said.slice(2)).toEqual([''])
})

test('gives a subscriber nothing when the room was taken meanwhile, and says so', () => {
  h264.tracks([videoOf('hevc', 1280), AUDIO])
  room = false
  const subscriber = sink()
  const leave = h264.subscribe(subscriber)
  expect([subscriber.heard, converting, reserved]).toEqual([[[]], 0, []])
  leave()
  room = true
  h264.look()
  expect(said.at(-1)).toBe('h264,opus')
})

test('is encoded once for all, in the room of one', () => {
  h264.tracks([videoOf('hevc', 1280), AUDIO])
  const leave = h264.subscribe(sink())
  room = false
  const hls = sink()
  const leaveHls = h264.besides(new Hub()).subscribe(hls)
  expect([converting, reserved]).toEqual([2, [1280]])
  leave()
  leave()
  expect([converting, reserved]).toEqual([1, [1280]])
  leaveHls()
  expect([converting, reserved]).toEqual([0, []])
})

test.each([
  ['without room', 'hevc', false],
  ['for H.264', 'h264', true],
] as const)('has HLS take the media of the publisher %s', (_, codec, hasRoom) => {
  const plain = new Hub()
  plain.tracks([videoOf(codec)])
  h264.tracks([videoOf(codec, 1280)])
  room = hasRoom
  const hls = sink()
  h264.besides(plain).subscribe(hls)
  expect([hls.heard, converting]).toEqual([[[videoOf(codec)]], 0])
})

test('ends for HLS with the media of the publisher, and not with the conversion, which ends before another publisher follows', () => {
  const [plain, converted] = [new Hub(), new Hub()]
  h264 = new ViewerH264({ converted, room: ENDLESS_ROOM })
  h264.tracks([videoOf('hevc', 1280)])
  const events: string[] = []
  const leave = h264.besides(plain).subscribe({
    tracks: (tracks) => void events.push(tracks.map(({ codec }) => codec).join()),
    frame: ({ kind }) => void events.push(kind),
    end: () => void events.push('end'),
  })
  plain.tracks([videoOf('hevc', 1280)])
  converted.tracks([videoOf('h264', 1280)])
  converted.frame({ kind: 'video', key: true, timeUs: 0, decodeTimeUs: 0, data: Buffer.alloc(1) })
  converted.end()
  expect(events).toEqual(['h264', 'video'])
  plain.end()
  expect(events).toEqual(['h264', 'video', 'end'])
  leave()
})

test('is offered again to a listener that comes after another one', () => {
  h264.tracks([videoOf('hevc')])
  const again: string[] = []
  h264.announce((tracks) => void again.push(tracks.map(({ codec }) => codec).join()))
  expect(again).toEqual(['h264'])
})
