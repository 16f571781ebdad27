import { expect, test } from 'vitest'
import { RtmpPublication } from '../../../src/media/rtmp/publication.ts'
import { Publication } from '../../support/publication.ts'
import { aacConfig, audioFrame, avcConfig, videoFrame } from './media.ts'

test('what comes after the end of a broadcast goes nowhere, and counts for nothing', () => {
  const seen = new Publication(null)
  const publication = new RtmpPublication(seen.answer(), { clock: { monotonic: () => 0 }, leftOut: () => undefined })
  for (const one of [aacConfig(), avcConfig(), videoFrame(0), audioFrame(5)]) publication.take(one)
  publication.reportBytes(100)
  publication.end('cut', 200)
  expect(publication.take(videoFrame(40))).toEqual({ ok: true, value: 'dropped' })
  publication.reportBytes(300)
  publication.end('left', 400)
  expect([seen.frames.length, seen.bytesIn, seen.reasons, seen.ends]).toEqual([2, 200, ['cut'], 1])
})
