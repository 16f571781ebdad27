import { expect, test } from 'vitest'
import { err, ok } from '../../../src/base/result.ts'
import { readCreateIngest, readUpdateIngest, toIngestRecord } from '../../../src/core/channels/ingest.ts'
import { CHANNEL_SETTINGS } from '../../support/channelSettings.ts'

const settings = {
  ...CHANNEL_SETTINGS,
  regions: ['local', 'far'],
  rtmpUrl: 'rtmp://127.0.0.1/live',
  srtUrl: 'srt://127.0.0.1:10000',
}
const PUSH = { type: 'rtmp-push', region: 'local', audio: [], url: null, shownUrl: settings.rtmpUrl } as const
const PULL = {
  ...PUSH,
  type: 'rtsp-pull',
  url: 'rtsp://me:secret@camera.example.com/1',
  shownUrl: 'rtsp://me:••••@camera.example.com/1',
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

test('an edit of the name alone does not judge a source again that the rules would refuse by now', () => {
  const before = { ...PULL, url: 'rtsp://10.0.0.1/1', shownUrl: 'rtsp://10.0.0.1/1' }
  expect(readUpdateIngest({ name: 'B' }, before, settings)).toEqual(ok({ name: 'B' }))
  expect(readUpdateIngest({ url: 'rtsp://10.0.0.1/2' }, before, settings)).toMatchObject({ ok: false })
})

test('a new pull needs a source, and a push has none', () => {
  const one = { ...settings, regions: ['local'] }
  const made = { name: 'Camera', region: 'local', audio: [] }
  const url = 'rtsp://camera.example.com/1'
  expect(readCreateIngest({ name: 'Camera', type: 'rtsp-pull', url }, one)).toEqual(
    ok({ ...made, type: 'rtsp-pull', url }),
  )
  expect(readCreateIngest({ name: 'Camera', type: 'srt-push' }, one)).toEqual(
    ok({ ...made, type: 'srt-push', url: null }),
  )
  expect(readCreateIngest({ name: 'Camera', type: 'rtsp-pull' }, one)).toMatchObject({
    error: { url: [expect.any(String)] },
  })
})

test('a record shows keys and sources to those who may see them, and no password of a source', () => {
  const ingest = {
    id: 'in_1',
    accountId: 'a',
    channelId: 'ch_1',
    name: 'Camera',
    region: 'local',
    audio: [],
    createdAtMs: 0,
  }
  const about = { id: 'in_1', channelId: 'ch_1', name: 'Camera', tracks: { audio: [] }, captions: [] }
  const recordOf = (type: 'rtmp-push' | 'srt-push' | 'rtsp-pull', secret: string | null) => {
    const secrets = secret === null ? null : { secret, passphrase: 'p' }
    const { createdAt: _, ...record } = toIngestRecord({ ...ingest, type }, secrets, settings)
    return record
  }
  const rtmp = { ...about, type: 'rtmp-push', url: settings.rtmpUrl }
  expect([recordOf('rtmp-push', 'key'), recordOf('rtmp-push', null)]).toStrictEqual([
    { ...rtmp, streamKey: 'key' },
    rtmp,
  ])
  const srt = { ...about, type: 'srt-push', url: settings.srtUrl }
  const whole = { ...srt, url: `${settings.srtUrl}?streamid=live%2Fkey&passphrase=p`, streamKey: 'key' }
  expect([recordOf('srt-push', 'key'), recordOf('srt-push', null)]).toStrictEqual([whole, srt])
  const pull = { ...about, type: 'rtsp-pull' }
  expect([recordOf('rtsp-pull', PULL.url), recordOf('rtsp-pull', null)]).toStrictEqual([
    { ...pull, url: PULL.shownUrl },
    pull,
  ])
})
