import { beforeEach, expect, test } from 'vitest'
import { ViewerH264 } from '../../../src/media/convert/viewerH264.ts'
import type { FrameSink, TrackInfo } from '../../../src/media/frame.ts'

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

test('is offered again to a listener that comes after another one', () => {
  h264.tracks([videoOf('hevc')])
  const again: string[] = []
  h264.announce((tracks) => void again.push(tracks.map(({ codec }) => codec).join()))
  expect(again).toEqual(['h264'])
})
