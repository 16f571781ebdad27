import { describe, expect, test } from 'vitest'
import { hostOfPull, isShownPullUrl, pullScheme, readPullUrl, shownPullUrl } from '../../../src/core/pulls/source.ts'

const NO_URL = 'must begin with rtsp://, rtsps://, rtmp://, rtmps://, srt://, whep:// or wheps://'

const open = { allowPrivate: true, hasAddress: (address: string) => !address.startsWith('172.'), isOurs: () => false }

describe('the URL of a source', () => {
  test.each([
    'rtsp://camera.lan/stream1',
    'rtsp://viewer:s3cret@192.168.1.20:8554/h264?profile=main',
    'rtsps://camera.example.com',
    'rtsp://[fd00::7]:554/user=a_password=b_channel=1.sdp',
    'rtmp://media.example.com/live/show?token=x',
    'rtmps://media.example.com:8443/app/instance/show',
    'srt://media.example.com:9000?streamid=#!::r=show,m=request&passphrase=correct-horse&latency=400'.replace(
      '#',
      '%23',
    ),
    'wheps://media.example.com/whep/show?auth=x',
    'whep://:t0ken.of.two-parts@10.0.0.7:8889/show/whep',
    'wheps://me:secret@media.example.com/show',
  ])('%s is taken', (text) => {
    expect(readPullUrl(text, open)).toMatchObject({ ok: true })
  })

  test.each([
    ['camera', NO_URL],
    ['ftp://camera/x', NO_URL],
    ['rtmp://host/app', 'must name an application and a stream: rtmp://host/app/stream'],
    ['rtmp://host/app/', 'must name an application and a stream: rtmp://host/app/stream'],
    ['rtmp://host//key', 'must name an application and a stream: rtmp://host/app/stream'],
    ['rtmp://me:secret@host/app/key', 'must not contain a user name or a password'],
    ['rtmp://host:6379/app/key\\n', 'must not contain spaces, control characters or backslashes'],
    ['srt://host', 'must have a port: srt://host:9000'],
    ['srt://host:25', 'must not use port 25'],
    ['srt://host:9000?mode=listener', 'must have the mode caller, or none'],
    ['srt://host:9000?passphrase=short', 'must have a passphrase of 10 to 79 letters, digits, hyphens and underscores'],
    ['srt://me:secret@host:9000', 'must not contain a user name or a password'],
    ['whep://host', 'must name an endpoint: wheps://host/path'],
    ['wheps://TOKEN@host/x', 'must have a token behind a colon: wheps://:TOKEN@host/path'],
    ['https://host/whep/show', 'must begin with wheps:// in place of https:// if it is a source of WHEP'],
    ['http://host/whep/show', 'must begin with whep:// in place of http:// if it is a source of WHEP'],
    ['rtsp:///path', 'must name a valid host'],
    ['rtsp://host/x#y', 'must not contain a fragment (#)'],
    ['rtsp://host:25/x', 'must not use port 25'],
    ['rtsp://host:0/x', 'must not use port 0'],
    ['rtsp://2130706433/x', 'must name a valid host'],
    ['rtsp://host/\ud800', 'must be well-formed Unicode (it has half of a surrogate pair)'],
    ['rtsp://host/a b', 'must not contain spaces, control characters or backslashes'],
    [`rtsp://host/${'x'.repeat(2048)}`, 'must be at most 2048 characters long'],
  ])('%s is refused', (text, error) => {
    expect(readPullUrl(text, open)).toEqual({ ok: false, error })
  })

  test('is refused at a private address and at this server', () => {
    expect(readPullUrl('rtsp://10.0.0.7/x', { ...open, allowPrivate: false })).toMatchObject({ ok: false })
    expect(readPullUrl('rtsp://172.16.0.7/x', open)).toEqual({
      ok: false,
      error: 'must lead to a public address, or into a network of `media.allowedNetworks`; 172.16.0.7 is in none',
    })
    const isOurs = (host: string, port: number) => host === 'live.example.com' && port === 554
    expect(readPullUrl('rtsp://LIVE.example.com/x', { ...open, isOurs })).toEqual({
      ok: false,
      error: 'must not lead to this server',
    })
  })

  test('has the port of its scheme', () => {
    const ways = ['rtsp://h/x', 'rtsps://h/x', 'rtsp://h:8554/x', 'rtmp://h/a/x', 'rtmps://h/a/x', 'srt://h:9000']
    const facts = [...ways, 'whep://h/x', 'wheps://h/x'].map((text) => pullScheme(new URL(text)))
    expect(facts.map(({ port }) => port)).toEqual([554, 322, 8554, 1935, 443, 9000, 80, 443])
    expect(facts.map(({ isEncrypted }) => isEncrypted)).toEqual([false, true, false, false, true, false, false, true])
  })
})

test.each([
  ['rtsp://camera.lan/stream1', 'rtsp://camera.lan/stream1', 'rtsp://camera.lan/'],
  ['rtsp://viewer:s3cret@h:8554/a?token=x', 'rtsp://viewer:••••@h:8554/a?••••', 'rtsp://h:8554/'],
  ['rtsp://viewer@h/a', 'rtsp://viewer@h/a', 'rtsp://h/'],
  ['rtsp://h/user=a_password=b_c_channel=1.sdp', 'rtsp://h/user=a_password=••••', 'rtsp://h/'],
  ['rtsp://h/pwd=x&stream=1/live', 'rtsp://h/pwd=••••&stream=1/live', 'rtsp://h/'],
  ['rtmp://h/app/s3cret-key?token=x', 'rtmp://h/app/••••?••••', 'rtmp://h/'],
  ['srt://h:9000?passphrase=s3cret-pass', 'srt://h:9000?••••', 'srt://h:9000/'],
  ['wheps://:t0ken@h/whep/show?auth=x', 'wheps://:••••@h/whep/show?••••', 'wheps://h/'],
])('%s is shown as %s', (url, shown, host) => {
  expect(shownPullUrl(new URL(url))).toBe(shown)
  expect(hostOfPull(shown)).toBe(host)
  expect(isShownPullUrl(shown)).toBe(shown.includes('•'))
})
