import { expect, test } from 'vitest'
import { readCreateEngine, readUpdateEngine } from '../../../src/core/channels/engine.ts'
import { CHANNEL_SETTINGS } from '../../support/channelSettings.ts'

const SETTINGS = {
  ...CHANNEL_SETTINGS,
  sources: { allowPrivate: false, hasAddress: () => false, isOurs: (host: string) => host === 'ours.example.com' },
}

const created = (...restream: object[]) => readCreateEngine({ name: 'Main', restream }, SETTINGS)

function targetsOf(...restream: object[]) {
  const read = created(...restream)
  return read.ok ? read.value.targets : expect.fail(JSON.stringify(read.error))
}

function refused(...restream: object[]) {
  const read = created(...restream)
  return read.ok ? expect.fail('it is taken') : read.error
}

test('an address of a hosted service has its key at the end, which is parted from it', () => {
  const id = 'youtube'
  expect(targetsOf({ id, url: 'rtmps://a.rtmps.youtube.com/live2/abcd-efgh-ijkl' })).toEqual([
    { id, url: 'rtmps://a.rtmps.youtube.com/live2', key: 'abcd-efgh-ijkl', label: '', enabled: true },
  ])
  const [nested] = targetsOf({ url: 'rtmp://live.example.com/app/inst/show?token=0123', label: 'TV', enabled: false })
  expect(nested).toEqual({
    id: '1',
    url: 'rtmp://live.example.com/app/inst',
    key: 'show?token=0123',
    label: 'TV',
    enabled: false,
  })
})

test('a key beside the address leaves it as it is', () => {
  const [target] = targetsOf({ url: 'rtmp://live.example.com/app/inst', key: 'live_0123' })
  expect(target).toMatchObject({ url: 'rtmp://live.example.com/app/inst', key: 'live_0123' })
})

test('secrets of SRT and RTSP are in no address that is shown', () => {
  const url = 'srt://studio.example.com:9000?passphrase=correct-horse'
  expect(targetsOf({ url })).toMatchObject([{ url: 'srt://studio.example.com:9000?passphrase=••••rse', key: url }])
})

test('targets without an id get numbers that no other has', () => {
  const at = (n: number) => ({ url: `whips://live.example.com/whip/${n}`, key: 'bearer-0123' })
  expect(targetsOf(at(1), { ...at(2), id: '1' }, at(3)).map(({ id }) => id)).toEqual(['2', '1', '3'])
})

test.each([
  [{ url: 'ftp://live.example.com/app', key: 'live_0123' }, 'restream[0].url', 'must begin with rtmp://'],
  [{ url: 'rtmp://live.example.com/app' }, 'restream[0].key', 'must have 5 to 512 characters'],
  [{ url: 'rtmp://live.example.com/app', key: '••••0123' }, 'restream[0].key', 'send it whole'],
  [{ url: 'srt://live.example.com:9000?streamid=••••am' }, 'restream[0].url', 'send it whole'],
  [{ url: 'srt://live.example.com:9000', key: 'live_0123' }, 'restream[0].key', 'must be empty'],
  [{ url: 'rtmp://127.0.0.1/app', key: 'live_0123' }, 'restream[0].url', 'must'],
  [{ url: 'rtmp://ours.example.com/live', key: 'live_0123' }, 'restream[0].url', 'this server'],
  [{ url: 'rtmp://live.example.com/app', key: 'live_0123', transcode: true }, 'restream[0].transcode', 'unknown'],
])('%j is refused at %s', (target, path, reason) => {
  expect(refused(target)[path]?.join()).toContain(reason)
})

test('two targets with one id, or one address and key, are refused, and more than ten', () => {
  const one = { id: 'a', url: 'rtmp://live.example.com/app', key: 'live_0123' }
  expect(Object.keys(refused(one, one))).toEqual(['restream[1]', 'restream[1].id'])
  expect(refused(...Array.from({ length: 11 }, () => one))['restream']?.join()).toContain('0 to 10')
})

test('an update without the field leaves targets as they are, and null clears them', () => {
  const patch = (body: object) => {
    const read = readUpdateEngine(body, SETTINGS)
    return read.ok ? read.value.targets : expect.fail()
  }
  expect([patch({ name: 'x' }), patch({ restream: null }), patch({ restream: [] })]).toEqual([undefined, [], []])
})
