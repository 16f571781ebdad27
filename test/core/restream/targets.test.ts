import { describe, expect, test } from 'vitest'
import {
  isMasked,
  maskedKey,
  maskedUrl,
  movedUrl,
  readTargetUrl,
  refuseKey,
  refuseTargetHost,
  shownKeyOf,
  targetPort,
  withSecret,
} from '../../../src/core/restream/targets.ts'

const policy = {
  allowPrivate: false,
  hasAddress: () => false,
  isOurs: (host: string, port: number, transport: 'tcp' | 'udp') =>
    host === 'own.example.com' && port === (transport === 'tcp' ? 1935 : 10_000),
}

const refusal = (text: string): string | null => {
  const read = readTargetUrl(text)
  return read.ok ? refuseTargetHost(read.value, policy) : read.error
}

describe('the URL of a target', () => {
  test.each([
    ['rtmp://live.example.com/app', 1935],
    ['rtmps://live.example.com/app/', 443],
    ['rtmps://live.example.com:443/rtmp/?s=1', 443],
    ['rtmp://live.example.com:80/app/instance', 80],
    ['rtmp://203.0.113.7:1936/live', 1936],
    ['RTMP://LIVE.example.com/app', 1935],
    ['rtmp://live.example.com:1024/app', 1024],
    ['srt://live.example.com:9000', 9000],
    ['srt://203.0.113.7:9000/?mode=caller&latency=8000&pbkeylen=32&passphrase=ten_chars-', 9000],
    ['SRT://[2001:4860::1]:9000?streamid=%23!::r=live,m=publish', 9000],
    ['rtsp://user:p%40ss@live.example.com/app/show?a=b', 554],
    ['RTSPS://live.example.com/app', 322],
  ])('may be %s', (text, port) => {
    const read = readTargetUrl(text)
    expect(read.ok && targetPort(read.value)).toBe(port)
  })

  test.each([
    ['', 'must begin with rtmp://'],
    ['live.example.com/app', 'must begin with rtmp://'],
    ['http://live.example.com/app', 'must begin with rtmp://'],
    ['file:///etc/passwd', 'must begin with rtmp://'],
    ['srt://live.example.com', 'must have a port'],
    ['srt://live.example.com:9000/app', 'must not have a path'],
    ['srt://live.example.com:9000?streamid=#!::r=x', 'must not contain a fragment'],
    ['srt://live.example.com:9000?maxbw=1', 'must not set maxbw'],
    ['srt://live.example.com:9000?__proto__=1', 'must not set __proto__'],
    ['srt://live.example.com:9000?mode=listener', 'must have the mode caller'],
    ['srt://live.example.com:9000?passphrase=too-short', 'passphrase of 10 to 79'],
    [`srt://live.example.com:9000?passphrase=${'a'.repeat(80)}`, 'passphrase of 10 to 79'],
    ['srt://live.example.com:9000?passphrase=with%20blanks-in-it', 'passphrase of 10 to 79'],
    ['srt://live.example.com:9000?latency=8001', 'latency of 0 to 8000'],
    ['srt://live.example.com:9000?latency=-1', 'latency of 0 to 8000'],
    ['srt://live.example.com:9000?pbkeylen=17', 'pbkeylen of 16, 24 or 32'],
    ['srt://live.example.com:9000?streamid=', 'streamid of 1 to 512'],
    [`srt://live.example.com:9000?streamid=${'%C3%A4'.repeat(257)}`, 'streamid of 1 to 512'],
    ['srt://live.example.com:9000?latency=1&latency=2', 'must not set latency twice'],
    ['srt://live.example.com:9000?streamid=••••oken&passphrase=another-one', 'each of its secrets whole'],
    ['srt://live.example.com:25?latency=1', 'must not use port 25'],
    ['rtmp://live.example.com:1023/app', 'must not use port 1023'],
    ['srt://127.0.0.1:9000', 'must lead to a public address'],
    ['srt://own.example.com:10000?streamid=x', 'must not lead to this server'],
    ['whips://live.example.com', 'must name an endpoint: whips://host/path'],
    ['whip://live.example.com:25/app', 'must not use port 25'],
    ['https://live.example.com/whip', 'must begin with rtmp://'],
    ['rtsp://live.example.com', 'must have a path'],
    ['rtsp://live.example.com/', 'must have a path'],
    ['rtsp://:word@live.example.com/app', 'must name the user'],
    ['rtsp://user:••••word@live.example.com/app?a=b', 'each of its secrets whole'],
    ['rtsp://live.example.com:25/app', 'must not use port 25'],
    ['rtsp://user:word@127.0.0.1/app', 'must lead to a public address'],
    ['srt://user:word@live.example.com:9000', 'must not contain a user name'],
    ['rtmp://live.example.com', 'must name an application'],
    ['rtmp://live.example.com/', 'must name an application'],
    ['rtmp://live.example.com//', 'must name an application'],
    ['rtmp://user:word@live.example.com/app', 'must not contain a user name'],
    ['rtmp://live.example.com/app#a', 'must not contain a fragment'],
    ['rtmp://live.example.com/a b', 'must not contain spaces'],
    ['rtmp://live.example.com/a\n', 'must not contain spaces'],
    ['rtmp://live.example.com/a\ud800', 'must be well-formed Unicode'],
    ['rtmp:///app', 'must name a valid host'],
    ['rtmp://0x7f.1/app', 'must name a valid host'],
    ['rtmp://2130706433/app', 'must name a valid host'],
    ['rtmp://127.0.0.1/app', 'must lead to a public address'],
    ['rtmp://[::1]/app', 'must lead to a public address'],
    ['rtmp://localhost/app', 'must lead to a public host'],
    ['rtmp://studio.internal/app', 'must lead to a public host'],
    ['rtmp://live.example.com:0/app', 'must not use port 0'],
    ['rtmp://live.example.com:25/app', 'must not use port 25'],
    ['rtmp://live.example.com:1023/app', 'must not use port 1023'],
    ['rtmp://own.example.com/app', 'must not lead to this server'],
    ['rtmp://OWN.example.com:1935/app', 'must not lead to this server'],
    [`rtmp://live.example.com/${'a'.repeat(2048)}`, 'must be at most 2048'],
  ])('may not be %s', (text, reason) => {
    expect(refusal(text)).toContain(reason)
  })

  test('may lead to another service on the host of this server', () => {
    expect(refusal('rtmp://own.example.com:1936/app')).toBeNull()
    expect(refusal('srt://own.example.com:1935')).toBeNull()
  })
})

describe('the key of a target', () => {
  test.each(['abcd', 'a'.repeat(513), 'with blank', 'line\nfeed', 'nul\u0000nul'])('may not be %j', (key) => {
    expect(refuseKey(key)).not.toBeNull()
    expect(refuseKey(key)).not.toContain(key)
  })

  test.each(['abcde', 'a'.repeat(512), 'live_123_AbC?bandwidthtest=true'])('may be %s', (key) => {
    expect(refuseKey(key)).toBeNull()
  })

  test('shows its last four characters, and fewer of a short one', () => {
    expect(maskedKey('live_1234_AbCdEf')).toBe('••••CdEf')
    expect(maskedKey('abcdefgh')).toBe('••••gh')
    expect(maskedKey('abcde')).toBe('••••e')
    expect([isMasked(maskedKey('abcdefgh')), isMasked('abcdefgh')]).toEqual([true, false])
  })
})

describe('the URL of a target of SRT', () => {
  const url = 'srt://live.example.com:9000?streamid=show%3Ft%3Da-long-token&latency=500&passphrase=correct-horse'

  test('shows the ends of its secrets, and is known again', () => {
    const shown = maskedUrl(url)
    expect(shown).toBe('srt://live.example.com:9000?streamid=••••oken&latency=500&passphrase=••••rse')
    expect([isMasked(url), isMasked(shown), maskedUrl(shown)]).toEqual([false, true, shown])
    expect(readTargetUrl(shown).ok).toBe(true)
  })

  test('without secrets is as it is, and is not taken for one that a record has shown', () => {
    const plain = 'srt://live.example.com:9000?latency=500'
    expect([maskedUrl(plain), isMasked(plain), maskedUrl('srt://live.example.com:9000')]).toEqual([
      plain,
      false,
      'srt://live.example.com:9000',
    ])
  })
})

describe('the URL of a target of RTSP', () => {
  const url = 'rtsp://cam:era:p%40ssword@live.example.com:8554/a/b?token=0123456789abcdef'

  test('shows the ends of its password and of its query, and is known again', () => {
    const shown = maskedUrl(url)
    expect(shown).toBe('rtsp://cam:••••ord@live.example.com:8554/a/b?••••cdef')
    expect([isMasked(url), isMasked(shown), maskedUrl(shown)]).toEqual([false, true, shown])
    expect([readTargetUrl(url).ok, readTargetUrl(shown).ok, shownKeyOf(url)]).toEqual([true, true, ''])
  })

  test('shows no part of a password that has signs of addresses in it', () => {
    expect(maskedUrl('rtsp://u:a@b@live.example.com/x')).toBe('rtsp://u:••••@live.example.com/x')
    expect(maskedUrl('RTSPS://u@live.example.com/x')).toBe('RTSPS://u@live.example.com/x')
  })

  test('gets a password that came apart from it, if it has a user', () => {
    expect(withSecret('rtsp://u@live.example.com/x', 'a@b')).toBe('rtsp://u:a%40b@live.example.com/x')
    expect(withSecret('rtsp://live.example.com/x', 'a@b')).toBe('rtsp://live.example.com/x')
    expect(withSecret('srt://live.example.com:9000', 'streamid=x')).toBe('srt://live.example.com:9000?streamid=x')
  })
})

describe('the address of a target that goes on elsewhere', () => {
  test.each([
    ['another host', 'rtmp://one/app', 'rtmp://two:1936/app', 'rtmp://two:1936/app'],
    ['relative to its own', 'rtmp://one/app', '//two/app', 'rtmp://two/app'],
    ['over TLS', 'rtmp://one/app', 'rtmps://two/app', 'rtmps://two/app'],
  ])('is taken: %s', (_, own, to, expected) => {
    expect(movedUrl(own, to)).toBe(expected)
  })

  test.each([
    ['without the TLS that it has', 'rtmp://two/app'],
    ['of another protocol', 'https://two/app'],
    ['with a password', 'rtmps://a:b@two/app'],
    ['without an application', 'rtmps://two'],
    ['at the port of a service that is not for media', 'rtmps://two:25/app'],
    ['that is none', 'rtmps://['],
    ['too long', `rtmps://two/${'a'.repeat(5000)}`],
  ])('stays its own instead of one %s', (_, to) => {
    expect(movedUrl('rtmps://one/app', to)).toBe('rtmps://one/app')
  })
})
