import { describe, expect, test } from 'vitest'
import { hostOf, URL_MAX } from '../../../src/core/validation/outboundUrl.ts'
import { checkTarget } from '../../../src/core/webhooks/target.ts'

/** Known attempts to make a server call itself, its neighbours or its cloud's metadata. */
const BYPASSES = [
  // Loopback, in every spelling that a URL parser knows.
  'https://127.0.0.1/',
  'https://127.0.0.1:8443/',
  'https://127.1/',
  'https://127.0.1/',
  'https://127.255.255.254/',
  'https://2130706433/',
  'https://0x7f000001/',
  'https://0x7f.1/',
  'https://0X7F.0.0.1/',
  'https://0177.0.0.1/',
  'https://017700000001/',
  'https://0177.0.0x1/',
  'https://127.0.0.1./',
  'https://%31%32%37.0.0.1/',
  'https://１２７.0.0.1/',
  'https://127。0。0。1/',
  'https://①②⑦.⓪.⓪.①/',
  'https://0/',
  'https://0.0.0.0/',
  'https://0x0/',
  'https://[::1]/',
  'https://[::]/',
  'https://[0:0:0:0:0:0:0:1]/',
  'https://[0000::0001]/',
  // IPv4 inside IPv6.
  'https://[::127.0.0.1]/',
  'https://[::7f00:1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:7f00:1]/',
  'https://[::ffff:a9fe:a9fe]/',
  'https://[::ffff:8.8.8.8]/',
  'https://[::ffff:0:127.0.0.1]/',
  'https://[64:ff9b::127.0.0.1]/',
  'https://[64:ff9b::7f00:1]/',
  'https://[64:ff9b:1::7f00:1]/',
  'https://[2002:7f00:1::]/',
  'https://[2002:a9fe:a9fe::1]/',
  'https://[2001:0:7f00:1::]/',
  'https://[2606:4700::5efe:127.0.0.1]/',
  'https://[2606:4700::200:5efe:127.0.0.1]/',
  // Private, link-local, shared, metadata, multicast, reserved.
  'https://10.0.0.1/',
  'https://172.16.0.1/',
  'https://172.31.255.255/',
  'https://192.168.1.1/',
  'https://169.254.169.254/latest/meta-data/',
  'https://2852039166/',
  'https://0xa9fea9fe/',
  'https://0251.0376.0251.0376/',
  'https://100.64.0.1/',
  'https://100.100.100.200/',
  'https://168.63.129.16/',
  'https://192.0.0.192/',
  'https://198.18.0.1/',
  'https://192.0.2.1/',
  'https://198.51.100.1/',
  'https://203.0.113.1/',
  'https://192.88.99.1/',
  'https://192.31.196.1/',
  'https://192.52.193.1/',
  'https://192.175.48.1/',
  'https://224.0.0.1/',
  'https://240.0.0.1/',
  'https://255.255.255.255/',
  'https://[fc00::1]/',
  'https://[fd00:ec2::254]/',
  'https://[fe80::1]/',
  'https://[fe80::1%25eth0]/',
  'https://[fec0::1]/',
  'https://[ff02::1]/',
  'https://[2001:db8::1]/',
  'https://[3fff::1]/',
  'https://[100::1]/',
  'https://[5f00::1]/',
  'https://[2001:2::1]/',
  'https://[2001:1::1]/',
  'https://[2001:3::1]/',
  'https://[2001:4:112::1]/',
  'https://[2001:20::1]/',
  'https://[2001:30::1]/',
  'https://[100:0:0:1::1]/',
  'https://[2620:4f:8000::1]/',
  // Names that are private by definition.
  'https://localhost/',
  'https://LOCALHOST/',
  'https://localhost./',
  'https://localhost../',
  'https://foo.localhost/',
  'https://ｌocalhost/',
  'https://loc%61lhost/',
  'https://localhost.localdomain/',
  'https://metadata.google.internal/',
  'https://metadata.google.internal./',
  'https://printer.local/',
  'https://router.home.arpa/',
  'https://backend/',
  'https://metadata/',
  // Other schemes, and text that readers and parsers interpret differently.
  'http://hook.example.com/',
  'ftp://hook.example.com/',
  'file:///etc/passwd',
  'gopher://hook.example.com/',
  'javascript:alert(1)',
  'data:text/plain,x',
  'https://user@hook.example.com/',
  'https://user:pass@hook.example.com/',
  'https://:pass@hook.example.com/',
  'https://hook.example.com@127.0.0.1/',
  'https://hook.example.com:443@127.0.0.1/',
  'https:\\\\127.0.0.1\\',
  'https://hook.example.com\\@127.0.0.1/',
  'https://hook.example.com/\ud800',
  'https:///127.0.0.1/',
  'https:127.0.0.1',
  'https://hook.exa\nmple.com/',
  'https://hook.example.com/\tx',
  ' https://hook.example.com/',
  'https://hook.example.com/ x',
  'https://hook.example.com/\u0000',
  'https://hook.example.com:0/',
  'https://hook..example.com/',
  'https://.example.com/',
  'https://',
  'https://[::1/',
  '//hook.example.com/',
  '/hook',
  'hook.example.com',
  '',
]

describe('a target', () => {
  test.each(BYPASSES)('%j is refused', (url) => {
    const result = checkTarget(url, false)
    expect(result.ok).toBe(false)
    if (!result.ok) expect(result.error).toMatch(/^must /)
  })

  test.each([
    'https://hook.example.com',
    'https://hook.example.com./',
    'https://hook.example.com:8443/a/b?c=d#e',
    'https://HOOK.Example.com/',
    'https://bücher.example/',
    'https://localhost.example.com/',
    'https://internal.example.com/',
    'https://8.8.8.8/',
    'https://[2606:4700::1111]/',
    'https://[2620:4f:8001::1]/',
    'https://[2001:200::1]/',
    'https://192.175.49.1/',
    'https://172.32.0.1/',
    'https://100.128.0.1/',
    'https://11.0.0.1/',
  ])('%j is accepted', (url) => {
    expect(checkTarget(url, false)).toMatchObject({ ok: true })
  })

  test('is at most 2048 characters long', () => {
    const url = `https://hook.example.com/${'x'.repeat(URL_MAX)}`
    expect(checkTarget(url.slice(0, URL_MAX), false).ok).toBe(true)
    expect(checkTarget(url.slice(0, URL_MAX + 1), false)).toEqual({
      ok: false,
      error: 'must be at most 2048 characters long',
    })
  })

  test('in a closed network may be private and plain http, but must still be valid', () => {
    for (const url of ['http://127.0.0.1:8080/', 'http://backend/', 'https://localhost/', 'http://[::1]/']) {
      expect(checkTarget(url, true).ok, url).toBe(true)
    }
    for (const url of [
      'ftp://backend/',
      'http://user@backend/',
      'http://backend:0/',
      'http://',
      'http://a..b/',
      'backend',
    ]) {
      expect(checkTarget(url, true).ok, url).toBe(false)
    }
  })

  test('that names an address yields it without brackets or dot', () => {
    expect(hostOf(new URL('https://[::1]:1/'))).toBe('::1')
    expect(hostOf(new URL('https://hook.example.com./'))).toBe('hook.example.com')
  })
})
