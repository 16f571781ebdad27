import { beforeEach, expect, test } from 'vitest'
import { Continuation } from '../../src/media/continuation.ts'
import type { Frame, TrackInfo } from '../../src/media/frame.ts'
import { AAC_CONFIG, AVC_CONFIG } from './rtmp/media.ts'

const VIDEO: TrackInfo = { kind: 'video', codec: 'h264', width: 320, height: 240, config: AVC_CONFIG }
const AUDIO: TrackInfo = { kind: 'audio', codec: 'aac', sampleRate: 44_100, channels: 2, config: AAC_CONFIG }

let sent: string[]
let joined: Continuation
beforeEach(() => {
  sent = []
  joined = new Continuation({
    tracks: (tracks) => void sent.push(tracks.map(({ codec }) => codec).join()),
    frame: ({ kind, timeUs }) => void sent.push(`${kind} ${timeUs / 1000}`),
    end: () => void sent.push('end'),
  })
})

const play = (kind: Frame['kind'], ...times: readonly number[]): void => {
  for (const ms of times) {
    const timeUs = ms * 1000
    joined.frame({
      kind,
      timeUs,
      decodeTimeUs: timeUs,
      key: kind === 'audio' || ms % 1000 === 0,
      data: Buffer.alloc(1),
    })
  }
}

test('a source that follows another one begins with a keyframe after what was sent', () => {
  joined.tracks([VIDEO, AUDIO])
  play('video', 0, 500, 1000, 1500)
  play('audio', 1600)
  joined.change()
  joined.tracks([VIDEO, AUDIO])
  play('audio', 900)
  play('video', 1000, 1500, 1990)
  play('audio', 1990)
  play('video', 2000, 2500)
  play('audio', 1999)
  joined.end()
  const before = ['h264,aac', 'video 0', 'video 500', 'video 1000', 'video 1500', 'audio 1600']
  expect(sent).toEqual([...before, 'h264,aac', 'video 2000', 'video 2500', 'audio 1999', 'end'])
})

test('audio alone goes on with the first frame that was not sent', () => {
  joined.tracks([AUDIO])
  play('audio', 0, 20, 40)
  joined.change()
  joined.tracks([AUDIO])
  play('audio', 20, 40, 60)
  expect(sent).toEqual(['aac', 'audio 0', 'audio 20', 'audio 40', 'aac', 'audio 60'])
})

test('times of another clock are believed', () => {
  joined.tracks([VIDEO])
  play('video', 60_000)
  joined.change()
  play('video', 30_000, 30_500)
  expect(sent).toEqual(['h264', 'video 60000', 'video 30000', 'video 30500'])
})
