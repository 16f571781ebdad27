import { describe, expect, test } from 'vitest'
import { srtAddress } from '../../../web/dashboard/src/addresses.ts'
import { addressesOf, embedCode, ffmpegCommand } from '../../../web/dashboard/src/pages/tokens/addresses.ts'
import {
  checkAddress,
  checkCountry,
  checkRendition,
  checkSite,
  checkStream,
  checkWhole,
} from '../../../web/dashboard/src/pages/tokens/checks.ts'
import { renditionOf } from '../../../web/dashboard/src/pages/tokens/renditions.ts'
import { readEntries } from '../../../web/dashboard/src/pages/tokens/streamEntry.ts'
import {
  changesBody,
  emptyForm,
  errorOf,
  FLAGS,
  formOf,
  isGeneral,
  newTokenBody,
  type TokenForm,
} from '../../../web/dashboard/src/pages/tokens/tokenForm.ts'
import { rebased } from '../../../web/dashboard/src/parts/draft.ts'
import { createCommand, inWords, quoted } from '../../../web/dashboard/src/pages/tokens/wording.ts'
import { COUNTRIES } from '../../../src/core/access/country.ts'
import { parseAddressRule } from '../../../src/core/access/address.ts'
import { parseOriginRule } from '../../../src/core/access/origin.ts'
import { checkStreamName, compilePattern } from '../../../src/core/access/streamName.ts'
import { readTokenCreate } from '../../../src/core/tokens/create.ts'
import { COMMON_FLAGS, mapFlags, PUBLISH_FLAGS, type TokenFlags } from '../../../src/core/tokens/flags.ts'
import { readTokenUpdate } from '../../../src/core/tokens/update.ts'
import { readStreamId } from '../../../src/edge/srt/streamId.ts'

const NOW = Date.UTC(2026, 4, 14, 16, 42)
const name = (streamName: string) => ({ streamName, isRegex: false })
const pattern = (streamName: string) => ({ streamName, isRegex: true })

describe('the checks of the form agree with the server', () => {
  test.each([
    'example.com',
    '*.example.com',
    'https://example.com:8443',
    'http://localhost:3000',
    'localhost',
    '[::1]:8080',
    '192.0.2.7:8080',
    'münchen.example',
    'example.com/path',
    'a.*.example',
    '*',
    'ftp://example.com',
    'capacitor://localhost',
    'chrome-extension://abcdefghijklmnopabcdefghijklmnop',
    'app://*.example.com',
    'example.com:0',
    'example.com:65536',
    'https://',
    'a b',
    'exa_mple.com',
    '*.192.0.2.7',
    '-a.example',
    'a..example',
  ])('site %s', (entry) => {
    expect(checkSite(entry) === null).toBe(parseOriginRule(entry).ok)
  })

  test.each([
    '192.0.2.7',
    '192.0.2.0/24',
    '0.0.0.0/0',
    '198.51.100.300',
    '192.0.2',
    '192.0.2.0/33',
    '192.0.2.0/',
    '192.0.2.1/2/3',
    '010.1.2.3',
    '192.0.2.*',
    '192.0.2.1-192.0.2.9',
    '2001:db8::1',
    'host',
    '1.2.3.4.5',
    '192.0.2.0/08',
  ])('address %s', (entry) => {
    expect(checkAddress(entry) === null).toBe(parseAddressRule(entry).ok)
  })

  test('every country of the server, in both cases, and no other', () => {
    for (const code of COUNTRIES)
      expect([code, checkCountry(code), checkCountry(code.toLowerCase())]).toEqual([code, null, null])
    for (const code of ['UK', 'ZZ', 'D', 'DEU', '']) expect(checkCountry(code)).not.toBeNull()
  })

  test.each([
    '480p:1200',
    '480:1200k',
    '96:50',
    '1080p:10000',
    '94:500',
    '481:500',
    '1082:500',
    '480:49',
    '480:10001',
    '480p',
    '',
  ])('rendition %s', (entry) => {
    const body = { label: 'a', streams: [name('a')], hlsRenditions: [renditionOf(entry)] }
    expect(checkRendition(entry) === null).toBe(readTokenCreate('publish', body).ok)
  })

  test.each(['show', 'a b, c', '/', 'x'.repeat(128), 'x'.repeat(129), '', 'tab\t'])('name %s', (streamName) => {
    expect(checkStream(name(streamName)) === null).toBe(checkStreamName(streamName) === null)
  })

  test.each([
    'cam-[0-9]+',
    '(a|b)',
    'press-(',
    'a)b',
    '[ab',
    '[]a]',
    '[^]a]',
    '[[:alpha:]]+',
    '\\(',
    'a\\',
    '(?=a)',
    '(?<!a)',
    '(a)\\1',
    '(?P<n>a)',
    '\\Q(\\E',
    'x{1,2}',
    '[\\]]',
    '(?i)a',
  ])('pattern %s', (streamName) => {
    expect(checkStream(pattern(streamName)) === null).toBe(compilePattern(streamName).ok)
  })
})

test('a mistake in a pattern is said with its place, counted in characters', () => {
  expect(checkStream(pattern('press-('))).toBe(
    'The pattern has an opening parenthesis without a closing one, at character 7.',
  )
  expect(checkStream(pattern('🎥)'))).toBe(
    'The pattern has a closing parenthesis without an opening one, at character 2.',
  )
})

test('an address says which number is too large', () => {
  expect(checkAddress('198.51.100.300')).toBe('198.51.100.300 is not an IPv4 address: 300 is above 255.')
})

test('a whole number has bounds, and may be absent', () => {
  expect([checkWhole('', 0, 5), checkWhole('5', 0, 5)]).toEqual([null, null])
  expect([checkWhole('6', 0, 5), checkWhole('1.5', 0, 5), checkWhole('x', 0, 5)]).not.toContain(null)
})

test('names are separated by commas; a pattern keeps its commas', () => {
  expect(readEntries('a, b c,/cam-[0-9]{1,3}/, /x/')).toEqual([
    name('a'),
    name('b c'),
    pattern('cam-[0-9]{1,3}'),
    pattern('x'),
  ])
  expect(readEntries(' , ')).toEqual([])
  expect(readEntries('/')).toEqual([name('/')])
})

const FULL: TokenForm = {
  ...emptyForm,
  label: 'Studio "1"',
  streams: [name('studio-1'), pattern('cam-[0-9]+')],
  allowedOrigins: ['*.example.com'],
  allowedIpAddresses: ['203.0.113.0/24'],
  bindIpsOnUsage: '2',
  maxViewers: '30',
  countries: ['DE'],
  countryRule: 'denied',
  endSessionsOnUpdate: false,
  endAtExpiry: true,
  subscribeRequiresAuth: true,
  record: true,
  enableThumbnails: true,
  multisource: false,
  enableUTCInsertion: true,
  transcode: true,
  displaySrtPassphrase: true,
  originCluster: 'auto',
  priority: '-3',
  recordingDays: '30',
  hlsRenditions: ['480p:1200', '360p:600'],
  hlsCodecs: 'source',
  trackingId: 'site 7',
  expires: 'week',
}

describe('the body', () => {
  test('of a new token is what the server reads, for both kinds', () => {
    const publish = readTokenCreate('publish', newTokenBody('publish', FULL, NOW))
    const subscribe = readTokenCreate('subscribe', newTokenBody('subscribe', FULL, NOW))
    expect(publish).toMatchObject({
      ok: true,
      value: {
        expiresSeconds: 604_800,
        rules: {
          label: 'Studio "1"',
          streams: FULL.streams,
          bindIpsOnUsage: 2,
          maxViewers: 30,
          deniedCountries: ['DE'],
          endSessionsOnUpdate: false,
          endAtExpiry: true,
          subscribeRequiresAuth: true,
          record: true,
          enableThumbnails: true,
          multisource: false,
          enableUTCInsertion: true,
          transcode: true,
          displaySrtPassphrase: true,
          originCluster: 'auto',
          priority: -3,
          recordingDays: 30,
          hlsRenditions: [
            { height: 480, bitrate: 1_200_000 },
            { height: 360, bitrate: 600_000 },
          ],
          hlsCodecs: 'source',
          trackingId: null,
        },
      },
    })
    expect(subscribe).toMatchObject({
      ok: true,
      value: { rules: { trackingId: 'site 7', subscribeRequiresAuth: false } },
    })
  })

  test('of a new token leaves defaults out, and counts seconds to a date', () => {
    const form = { ...emptyForm, label: 'a', streams: [name('a')] }
    expect(newTokenBody('publish', form, NOW)).toEqual({ label: 'a', streams: [name('a')] })
    const until = { ...form, expires: 'date', expiresAt: new Date(NOW + 90_000).toISOString() } as const
    expect(newTokenBody('publish', until, NOW)).toMatchObject({ expires: 90 })
  })

  test('of an edit holds the differences alone', () => {
    const before = formOf({
      label: 'a',
      streams: [name('a'), pattern('b')],
      allowedOrigins: [],
      allowedIpAddresses: [],
      bindIpsOnUsage: 2,
      maxViewers: 30,
      allowedCountries: ['DE'],
      deniedCountries: [],
      endSessionsOnUpdate: true,
      endAtExpiry: false,
      multisource: true,
      originCluster: 'north',
      priority: 7,
      recordingDays: 0,
      hlsRenditions: [{ height: 480, bitrate: 1_200_000 }],
    })
    expect(changesBody('publish', before, before)).toEqual({})
    const body = changesBody('publish', before, {
      ...before,
      streams: [name('a'), name('b')],
      bindIpsOnUsage: '',
      maxViewers: '',
      countryRule: 'denied',
      originCluster: '',
      priority: '',
      recordingDays: '',
      hlsRenditions: [],
      hlsCodecs: 'source',
      record: true,
    })
    expect(body).toEqual({
      addTokenStreams: [name('b')],
      removeTokenStreams: ['b'],
      bindIpsOnUsage: 0,
      maxViewers: 0,
      allowedCountries: [],
      deniedCountries: ['DE'],
      originCluster: '',
      priority: null,
      recordingDays: null,
      hlsRenditions: [],
      hlsCodecs: 'source',
      record: true,
    })
    expect(readTokenUpdate('publish', body).ok).toBe(true)
  })

  test('of an edit of a subscribe token has no field of publish tokens', () => {
    const body = changesBody('subscribe', emptyForm, { ...FULL, trackingId: '' })
    expect(readTokenUpdate('subscribe', body).ok).toBe(true)
  })
})

test('the switches are the flags of the server, with their kinds, defaults and options', () => {
  const ofServer = (flags: TokenFlags, kinds: readonly string[]) =>
    mapFlags(flags, (_name, { byDefault, option }) => ({ kinds, byDefault, option: option.name }))
  expect(FLAGS).toEqual({
    ...ofServer(COMMON_FLAGS, ['publish', 'subscribe']),
    ...ofServer(PUBLISH_FLAGS, ['publish']),
  })
})

test('a change from elsewhere reaches the fields that the person has not touched, so that saving does not undo it', () => {
  const before = { ...emptyForm, label: 'a', allowedOrigins: ['a.example'] }
  const typed = { ...before, label: 'b' }
  const fresh = { ...before, label: 'c', allowedOrigins: ['a.example', 'b.example'] }
  const form = rebased(typed, before, fresh)
  expect(form).toEqual({ ...fresh, label: 'b' })
  expect(changesBody('publish', fresh, form)).toEqual({ label: 'b' })
})

test('an error of the server stands at its field, with the entry that it means', () => {
  const errors = { 'allowedIpAddresses[1]': 'not an address', 'tracking.trackingId': 'too long', labels: 'x' }
  expect(errorOf(errors, 'allowedIpAddresses', ['192.0.2.7', 'host'])).toBe('host: not an address')
  expect(errorOf(errors, 'tracking')).toBe('too long')
  expect(errorOf(errors, 'label')).toBeUndefined()
  expect([isGeneral(errors), isGeneral({ message: 'no' })]).toEqual([false, true])
})

test('the sentence says who, what, from where and until when', () => {
  const sentence = (form: TokenForm, until: string | null) =>
    inWords('publish', form, until)
      .map(({ text }) => text)
      .join('')
  expect(sentence({ ...emptyForm, streams: [name('press')] }, 'Thu')).toBe(
    'A client with this token may broadcast as press, from anywhere, until Thu. Every viewer who knows the address may watch.',
  )
  expect(sentence(FULL, null)).toBe(
    'A client with this token may broadcast as studio-1, /cam-[0-9]+/, on pages of *.example.com and from 203.0.113.0/24 and ' +
      'from the first 2 addresses that use it and outside of DE. Each stream has at most 30 viewers at once. Viewers need a subscribe token.',
  )
})

test('the command quotes what a shell would read otherwise', () => {
  expect(quoted("it's")).toBe("'it'\\''s'")
  expect(createCommand('publish', { ...emptyForm, label: '$(rm) `x`', streams: [pattern('cam-[0-9]+')] }, NOW)).toBe(
    "sluice token create \\\n  --label '$(rm) `x`' \\\n  --regex 'cam-[0-9]+'",
  )
})

test('the command has a switch for each that differs from its default', () => {
  const switched = Object.keys(FLAGS).map((name) => [name, !emptyForm[name as keyof typeof FLAGS]])
  const command = createCommand('publish', { ...emptyForm, label: 'a', ...Object.fromEntries(switched) }, NOW)
  expect(command.split(' \\\n  ').slice(2)).toEqual([
    '--secure',
    '--record',
    '--thumbnails',
    '--no-multisource',
    '--utc-times',
    '--transcode',
    '--srt-passphrase',
    '--no-end-sessions-on-update',
    '--end-at-expiry',
  ])
})

test('addresses escape the names of streams, and the snippet escapes HTML', () => {
  const place = {
    http: 'https://live.example/base',
    rtmp: 'rtmp://live.example:1935',
    rtmps: null,
    srt: null,
    accountId: 'a1b2c3',
    streamName: 'a/b "c"',
  }
  expect(addressesOf(place)).toMatchObject({
    whip: 'https://live.example/base/api/whip/a%2Fb%20%22c%22',
    whep: 'https://live.example/base/api/whep/a1b2c3/a%2Fb%20%22c%22',
    hls: 'https://live.example/base/hls/a1b2c3/a%2Fb%20%22c%22/index.m3u8',
  })
  expect(ffmpegCommand(place, '$TOKEN')).toContain('"rtmp://live.example:1935/v2/pub/a%2Fb%20%22c%22?token=$TOKEN"')
  expect(embedCode({ ...place, streamName: '"><script>' })).toContain('stream="a1b2c3/&quot;&gt;&lt;script&gt;"')
})

test('an address for SRT has a stream id that the server reads, and the passphrase if the token displays it', () => {
  const token = 'ab'.repeat(32)
  const server = { http: 'https://live.example', rtmp: '', rtmps: null, srt: 'srt://live.example:10000' }
  const address = srtAddress(server, 'a/b "c"?', { token, srtPassphrase: 'a-passphrase' }) ?? ''
  const [, streamId = '', passphrase] =
    /^srt:\/\/live\.example:10000\?streamid=([^&]*)&passphrase=(.*)$/.exec(address) ?? []
  expect(passphrase).toBe('a-passphrase')
  // ffmpeg and OBS send it as it is in the address; others decode it.
  for (const sent of [streamId, decodeURIComponent(streamId)]) {
    expect(readStreamId(sent)).toMatchObject({
      ok: true,
      value: { destination: { streamName: 'a/b "c"?', presented: token } },
    })
  }
  expect(srtAddress(server, 'a', { token })).not.toContain('passphrase')
  expect(srtAddress({ ...server, srt: null }, 'a', { token })).toBeNull()
})
