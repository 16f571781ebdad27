import { expect, test } from 'vitest'
import type { VideoCodec } from '../../../src/media/codecs/codecs.ts'
import { type AmfValue, amfObject } from '../../../src/media/rtmp/amf0.ts'
import { isTaken, readFourccs, refuseTracks } from '../../../src/media/rtmp/flvWriter.ts'

const video = (codec: VideoCodec) =>
  ({ kind: 'video', codec, width: 320, height: 240, config: new Uint8Array() }) as const

test.each<[string, AmfValue, string[]]>([
  ['a list', amfObject({ fourCcList: ['hvc1', 'mp4a', 7] }), ['hvc1', 'mp4a']],
  [
    'a map',
    amfObject({ videoFourCcInfoMap: amfObject({ hvc1: 1, av01: 4, vp09: 2, vp08: 0, avc1: 'x' }) }),
    ['hvc1', 'av01'],
  ],
  ['both', amfObject({ fourCcList: ['*'], videoFourCcInfoMap: amfObject({ hvc1: 7 }) }), ['*', 'hvc1']],
  ['neither', amfObject({ fourCcList: 'hvc1', videoFourCcInfoMap: ['hvc1'] }), []],
  ['no object', null, []],
])('the codecs of a server are read from its answer with %s', (_what, facts, codecs) => {
  expect([...readFourccs([new Map(), facts])]).toEqual(codecs)
  expect([...readFourccs([facts, null])]).toEqual(codecs)
})

test('a server takes what it names, and H.264 always', () => {
  const takes = (codec: VideoCodec, ...names: string[]) => isTaken(video(codec), new Set(names))
  expect([takes('h264'), takes('hevc'), takes('hevc', 'hvc1'), takes('av1', 'hvc1'), takes('vp9', '*')]).toEqual([
    true,
    false,
    true,
    false,
    true,
  ])
  // RTMP has a fourcc for it, which no service takes.
  expect([takes('vp8', '*', 'vp08'), refuseTracks([video('vp8')], new Set(['*']))]).toEqual([
    false,
    { code: 'video_not_for_rtmp', values: { codec: 'VP8' } },
  ])
})
