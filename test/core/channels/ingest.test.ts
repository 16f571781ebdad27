import { expect, test } from 'vitest'
import { err, ok } from '../../../src/base/result.ts'
import { readUpdateIngest } from '../../../src/core/channels/ingest.ts'
import type { ChannelSettings } from '../../../src/core/channels/types.ts'

const settings: ChannelSettings = {
  regions: ['local', 'far'],
  rtmpUrl: 'rtmp://127.0.0.1/live',
  srtUrl: 'srt://127.0.0.1:10000',
  sources: { allowPrivate: false, isOurs: () => false },
  refuseKey: () => null,
  viewerClaim: 'streaming',
}
const PUSH = { type: 'rtmp-push', region: 'local', audio: [], url: null, shownUrl: settings.rtmpUrl } as const
const PULL = {
  ...PUSH,
  type: 'rtsp-pull',
  url: 'rtsp://me:secret@camera.example.com/1',
  shownUrl: 'rtsp://me@camera.example.com/1',
} as const

test('an update with what the record shows changes nothing, also where Sluice hands out the address', () => {
  for (const before of [PUSH, PULL]) {
    const { type, region, shownUrl: url } = before
    expect(readUpdateIngest({ type, region, url, tracks: { audio: [] } }, before, settings)).toEqual(ok({}))
  }
})

test('an update changes what it names', () => {
  expect(readUpdateIngest({ name: 'B', region: 'far' }, PUSH, settings)).toEqual(ok({ name: 'B', region: 'far' }))
  const url = 'rtsp://camera.example.com/2'
  expect(readUpdateIngest({ url }, PULL, settings)).toEqual(ok({ url }))
  expect(readUpdateIngest({ type: 'rtsp-pull', url }, PUSH, settings)).toEqual(ok({ type: 'rtsp-pull', url }))
  expect(readUpdateIngest({ type: 'srt-push', url: PUSH.shownUrl }, PUSH, settings)).toEqual(ok({ type: 'srt-push' }))
})

test('another address of a push, and a pull without a source, are refused', () => {
  const why = (body: object, before: typeof PUSH | typeof PULL) => readUpdateIngest(body, before, settings)
  expect(why({ url: 'rtmp://elsewhere.example.com/live' }, PUSH)).toEqual(
    err({ url: [expect.stringContaining('push')] }),
  )
  expect(why({ type: 'rtsp-pull' }, PUSH)).toEqual(err({ url: [expect.stringContaining('is required')] }))
  expect(why({ type: 'rtsp-pull', url: PUSH.shownUrl }, PUSH)).toMatchObject({ ok: false })
  expect(why({ type: 'srt-pull' }, PULL)).toEqual(err({ url: [expect.stringContaining('is required')] }))
  expect(why({ type: 'sdi-pull' }, PUSH)).toEqual(err({ type: [expect.stringContaining('sdi-pull is not built')] }))
})
