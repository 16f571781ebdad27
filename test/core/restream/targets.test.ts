import { describe, expect, test } from 'vitest'
import {
  isMasked,
  maskedKey,
  readTargetUrl,
  refuseKey,
  refuseTargetHost,
  targetPort,
} from '../../../src/core/restream/targets.ts'

const policy = {
  allowPrivate: false,
  isOurs: (host: string, port: number) => host === 'own.example.com' && port === 1935,
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
  ])('may be %s', (text, port) => {
    const read = readTargetUrl(text)
    expect(read.ok && targetPort(read.value)).toBe(port)
  })

  test.each([
    ['', 'must begin with rtmp://'],
    ['live.example.com/app', 'must begin with rtmp://'],
    ['http://live.example.com/app', 'must begin with rtmp://'],
    ['file:///etc/passwd', 'must begin with rtmp://'],
    ['srt://live.example.com:9000', 'srt:// is not built'],
    ['whip://live.example.com/app', 'whip:// is not built'],
    ['rtsp://live.example.com/app', 'rtsp:// is not built'],
    ['rtmp://live.example.com', 'must name an application'],
    ['rtmp://live.example.com/', 'must name an application'],
    ['rtmp://live.example.com//', 'must name an application'],
    ['rtmp://user:word@live.example.com/app', 'must not contain a user name'],
    ['rtmp://live.example.com/app#a', 'must not contain a fragment'],
    ['rtmp://live.example.com/a b', 'must not contain spaces'],
    ['rtmp://live.example.com/a\n', 'must not contain spaces'],
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
