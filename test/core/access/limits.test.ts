import { describe, expect, test } from 'vitest'
import { addressKeyOf, parseAddress, parseAddressRule } from '../../../src/core/access/address.ts'
import { claimsOf } from '../../../src/core/access/claims.ts'
import { matchesOrigin, parseOriginRule } from '../../../src/core/access/origin.ts'
import { looksLikeJwt, parseSelfSigned } from '../../../src/core/access/selfSigned.ts'
import { checkStreamName, compilePattern, compileStreams, covers } from '../../../src/core/access/streamName.ts'

const why = (result: { ok: true } | { ok: false; error: unknown }): unknown => (result.ok ? 'fine' : result.error)
const valueOf = <T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T => {
  if (!result.ok) throw new Error(String(result.error))
  return result.value
}
const at = (length: number, text: string): string => text.padEnd(length, 'x').slice(0, length)

describe('addresses', () => {
  test('may have a zone, up to 128 characters, and no colon is no IPv6', () => {
    const zoned = (length: number) => parseAddress(`fe80::1%${'z'.repeat(length - 8)}`)?.text
    expect([zoned(128), zoned(129)]).toEqual(['fe80::1', undefined])
    expect(parseAddress('z'.repeat(128))).toBeNull()
    expect(['1234567', 'fe80', ''].map(parseAddress)).toEqual([null, null, null])
  })

  test.each([
    '1.2.3.4::',
    '1.2.3.4:1:2:3:4:5:6',
    '1::1.2.3.4:5',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1::2::3',
    '1:2:3:4:5:6:7::8',
    '1:2:3:4:5:6:7:8::9::a',
    '255.255',
    '10.20.30',
    '10.20.30.',
  ])('%s is none', (text) => expect(parseAddress(text)).toBeNull())

  test.each([
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['64:ff9b::192.0.2.7', '64:ff9b::c000:207'],
    ['1:2:3:4:5:6:192.0.2.7', '1:2:3:4:5:6:c000:207'],
    ['::1:ffff:c000:207', '::1:ffff:c000:207'],
    ['::fffe:c000:207', '::fffe:c000:207'],
    ['0:0:0:0:1:ffff:c000:207', '::1:ffff:c000:207'],
    ['1::ffff:c000:207', '1::ffff:c000:207'],
  ])('%s is %s', (text, expected) => expect(parseAddress(text)?.text).toBe(expected))

  test('of one /64 are one', () => {
    const sockets = ['2001:db8:0:7:1:2:3:4', '192.0.2.7', '::ffff:192.0.2.7', 'fe80::1%eth0', '']
    const keys = ['2001:db8:0:7::/64', '192.0.2.7', '192.0.2.7', 'fe80::/64', '']
    expect(sockets.map(addressKeyOf)).toEqual(keys)
  })

  test.each([
    ['10.0.0.0/33', /from 0 to 32/],
    ['10.0.0.0/', /from 0 to 32/],
    ['10.0.0.0/08', /from 0 to 32/],
    ['10.0.0.0/1e1', /from 0 to 32/],
    ['10.0.0.0/ 8', /from 0 to 32/],
    ['::1', /^IPv6/],
    ['10.0.*', /^wildcards/],
    ['10.0.0.1-10.0.0.9', /^ranges/],
    ['10.0.0.256', /^not an IPv4/],
  ])('%s is refused with the reason', (text, reason) => expect(why(parseAddressRule(text))).toMatch(reason))
})

describe('origins', () => {
  const rule = (text: string) => valueOf(parseOriginRule(text))
  const matches = (text: string, header: string): boolean => matchesOrigin([rule(text)], header)

  test('match by scheme, host and port', () => {
    expect(matches('https://a.example', 'http://a.example')).toBe(false)
    expect(matches('https://a.example', 'HTTPS://a.example:443')).toBe(true)
    expect(matches('https://a.example', 'https://a.example:444')).toBe(false)
    expect(matches('a.example', 'http://a.example:8080')).toBe(true)
    expect(matches('a.example:8080', 'http://a.example')).toBe(false)
    expect(matches('https://a.example:8080', 'http://a.example:8080')).toBe(false)
    expect(matches('http://a.example:8080', 'https://a.example:8080')).toBe(false)
    expect(matches('*.a.example', 'https://b.a.example')).toBe(true)
    expect(matches('*.a.example', 'https://a.example')).toBe(false)
    expect(matches('*.a.example', 'https://ba.example')).toBe(false)
    expect(matches('*.a.example', 'https://a.example.b.x')).toBe(false)
    expect(matches('a.example', 'https://b.example')).toBe(false)
    expect(matches('a.example', 'https://a.example:0')).toBe(false)
    expect(matches('a.example', 'https://a..example')).toBe(false)
  })

  test('have ports from 1 to 65535', () => {
    expect([rule('a.example:1').port, rule('a.example:65535').port]).toEqual([1, 65_535])
  })

  test('may have 255 characters as a rule, and hosts 253', () => {
    const host = (length: number) => at(length - 8, 'abc.'.repeat(80)).replace(/\.$/, 'x') + '.example'
    expect([host(253).length, why(parseOriginRule(host(253))), why(parseOriginRule(host(254)))]).toEqual([
      253,
      'fine',
      expect.stringMatching(/not a valid domain/),
    ])
    expect([why(parseOriginRule(`${host(251)}:80`)), why(parseOriginRule(`${host(251)}:8080`))]).toEqual([
      'fine',
      'must have 1 to 255 characters',
    ])
    expect([253, 254].map((length) => why(parseOriginRule(host(length).replace('abc', 'a_c'))))).toEqual([
      'fine',
      expect.stringMatching(/not a valid domain/),
    ])
    expect([255, 256].map((length) => why(parseOriginRule(at(length, 'x.'.repeat(200)))))).toEqual([
      expect.stringMatching(/not a valid domain/),
      'must have 1 to 255 characters',
    ])
    expect(why(parseOriginRule(`${host(240).replace('abc', 'büc')}:65535`))).toBe('fine')
    expect(why(parseOriginRule(`https://${host(243).replace('abc', 'bü')}`))).toMatch(/255 characters after IDNA/)
    expect(matches(host(253), `https://${host(253)}:8080`)).toBe(true)
  })

  test('are remembered, and what is remembered is the same', () => {
    for (let n = 0; n < 600; n += 1) {
      expect([matches('a.example', `https://a.example:${n + 1}`), matches('a.example', 'null')]).toEqual([true, false])
    }
  })
})

describe('stream names', () => {
  test('have at most 128 code points, and patterns too', () => {
    for (const one of ['x', '🎥']) {
      expect([checkStreamName(one.repeat(128)), checkStreamName(one.repeat(129))]).toEqual([null, expect.any(String)])
    }
    expect(why(compilePattern('x'.repeat(129)))).toMatch(/1 to 128/)
  })

  test('are covered when one of several patterns matches, and all wrong entries are named', () => {
    const entries = ['a.*', 'b.*', 'c('].map((streamName) => ({ streamName, isRegex: true }))
    const streams = valueOf(compileStreams(entries.slice(0, 2)))
    expect(['ax', 'bx', 'cx'].map((name) => covers(streams, name))).toEqual([true, true, false])
    const wrong = compileStreams([...entries, { streamName: '', isRegex: false }])
    expect(why(wrong)).toMatchObject([{ index: 2 }, { index: 3 }])
    expect(valueOf(compileStreams([{ streamName: 'name', isRegex: false }])).exact).toEqual(new Set(['name']))
  })

  test.each([
    ['a)', 'not a valid RE2 pattern, at character 2: unexpected )'],
    ['(a))', 'not a valid RE2 pattern, at character 4: unexpected )'],
    [')(a)', 'not a valid RE2 pattern, at character 1: unexpected )'],
    ['(a)(b))c)', 'not a valid RE2 pattern, at character 7: unexpected )'],
    ['[)]a)', 'not a valid RE2 pattern, at character 5: unexpected )'],
    ['\\)(b))', 'not a valid RE2 pattern, at character 6: unexpected )'],
    ['🎥(a', 'not a valid RE2 pattern, at character 4: missing closing )'],
    ['ab(?=c)', 'look-around is not supported in RE2 syntax, at character 3: (?='],
    ['ab\\1', 'back-references are not supported in RE2 syntax, at character 3: \\1'],
    ['ab**', 'not a valid RE2 pattern, at character 3: invalid nested repetition operator: **'],
    ['*', 'not a valid RE2 pattern, at character 1: missing argument to repetition operator'],
  ])('%s is refused with the place', (pattern, expected) => {
    expect(why(compilePattern(pattern))).toBe(expected)
  })
})

describe('self-signed tokens', () => {
  test('look like three parts', () => {
    expect(['a.b.c', 'a.b.', '.b.c', 'a.b', 'a..c', '..', 'abc'].map(looksLikeJwt)).toEqual([
      true,
      true,
      false,
      false,
      true,
      false,
      false,
    ])
  })

  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const streaming = { tokenId: 1, tokenType: 'Subscribe', streamName: 'stage' }
  const token = (header: object, payload: object = { exp: 5, streaming }) =>
    `${encode(header)}.${encode(payload)}.${Buffer.alloc(32).toString('base64url')}`

  test('have any of many headers, the same or other ones', () => {
    for (let n = 0; n < 200; n += 1) {
      expect(valueOf(parseSelfSigned(token({ alg: 'HS256', kid: `${n % 100}` }))).alg).toBe('HS256')
      expect(why(parseSelfSigned(token({ alg: 'none', kid: `${n % 100}` })))).toMatch(/^alg must be/)
    }
  })

  test('have three parts of base64url, and are no longer than 8192 characters', () => {
    const [header = '', payload = '', signature = ''] = token({ alg: 'HS256' }).split('.')
    expect(why(parseSelfSigned(`${header}.${payload}`))).toBe('a JWT has three parts')
    expect(why(parseSelfSigned(header))).toBe('a JWT has three parts')
    expect(why(parseSelfSigned(`${header}.=.${signature}`))).toMatch(/^the payload is not base64url/)
    const padded = (length: number) => {
      const bare = token({ alg: 'HS256' }).length
      return token({ alg: 'HS256' }, { exp: 5, streaming, a: 'x'.repeat(Math.floor(((length - bare - 10) * 3) / 4)) })
    }
    expect(padded(8190).length).toBeLessThanOrEqual(8192)
    expect([why(parseSelfSigned(padded(8190))), why(parseSelfSigned(padded(8210)))]).toEqual([
      'fine',
      'the token is longer than 8192 bytes',
    ])
  })

  test.each([
    [{ tokenId: 1 }, 'fine'],
    [{ tokenId: 0 }, 'streaming.tokenId must be the integer id of the parent token'],
    [{ tokenId: 1.5 }, 'streaming.tokenId must be the integer id of the parent token'],
    [{ ['y'.repeat(70)]: 1 }, `streaming.${'y'.repeat(64)} is not known`],
    [{ customViewerData: '' }, 'fine'],
    [{ customViewerData: 'a\0b' }, expect.stringMatching(/^streaming.customViewerData must be a string of at most/)],
    [{ customViewerData: 5 }, expect.stringMatching(/^streaming.customViewerData must be a string of at most/)],
    [{ tracking: {} }, 'fine'],
    [{ tracking: { trackingId: null } }, 'fine'],
    [{ tracking: { trackingId: 7 } }, 'streaming.tracking.trackingId must be a string'],
    [{ tracking: {}, maxViewers: 2 }, 'streaming.maxViewers needs streaming.tracking.trackingId'],
    [{ tracking: { trackingId: 'x\n' } }, 'streaming.tracking.trackingId must not contain control characters'],
    [{ tracking: { trackingId: '😀'.repeat(128) } }, 'fine'],
    [{ tracking: { trackingId: '😀'.repeat(129) } }, 'streaming.tracking.trackingId must have 1 to 128 characters'],
    [{ tracking: { trackingId: 'x' } }, 'fine'],
    [{ tracking: { trackingId: 'x', more: 1 } }, 'streaming.tracking must be an object with nothing but trackingId'],
    [{ tracking: { trackingId: 'x' }, maxViewers: 1_000_000 }, 'fine'],
    [{ maxViewers: 0 }, 'fine'],
    [{ tracking: { trackingId: 'x' }, maxViewers: -1 }, 'streaming.maxViewers must be an integer from 0 to 1000000'],
    [{ endAtExpiry: null }, 'fine'],
    [{ endAtExpiry: 'true' }, 'streaming.endAtExpiry must be true or false'],
    [
      { tracking: { trackingId: 'x' }, maxViewers: 1_000_001 },
      'streaming.maxViewers must be an integer from 0 to 1000000',
    ],
    [{ tracking: { trackingId: 'x' }, maxViewers: '2' }, 'streaming.maxViewers must be an integer from 0 to 1000000'],
    [{ maxViewers: 2 }, 'streaming.maxViewers needs streaming.tracking.trackingId'],
    [{ allowedOrigins: 'a.example' }, expect.stringMatching(/^streaming.allowedOrigins must be a list of at most/)],
    [{ allowedOrigins: ['a.example', 5] }, 'streaming.allowedOrigins[1]: must be a string'],
    [{ streamName: '' }, 'streaming.streamName must have 1 to 128 characters'],
  ])('say %j: %j', (claims, expected) => {
    expect(why(claimsOf({ exp: 5, streaming: { ...streaming, ...claims } }))).toEqual(expected)
  })

  test('are as long as 8192 characters, to the last one', () => {
    const texts = Array.from({ length: 400 }, (_, n) =>
      token({ alg: 'HS256', kid: 'k'.repeat(n % 4) }, { exp: 5, streaming, a: 'x'.repeat(5950 + (n >> 2)) }),
    )
    const parsed = [8192, 8193].map((length) => texts.find((text) => text.length === length) ?? '')
    expect(parsed.map((text) => why(parseSelfSigned(text)))).toEqual(['fine', 'the token is longer than 8192 bytes'])
  })

  test('have dates in seconds, up to the last that a date can be, and round down', () => {
    const dated = (dates: object) => claimsOf({ exp: 5, streaming, ...dates })
    expect(valueOf(dated({ exp: 1.0009 }))).toMatchObject({ expiresAtMs: 1000, issuedAtMs: null, notBeforeMs: null })
    expect(valueOf(dated({ iat: 0, nbf: 8.64e12 }))).toMatchObject({ issuedAtMs: 0, notBeforeMs: 8.64e15 })
    expect(why(dated({ exp: 8.64e12 + 1 }))).toBe('exp is required, in seconds since 1970')
  })

  test('have lists of as many rules as the limit, and no more', () => {
    const listed = (count: number) =>
      why(claimsOf({ exp: 5, streaming: { ...streaming, allowedIpAddresses: Array(count).fill('10.0.0.1') } }))
    const most = Number(/at most (\d+)$/.exec(String(listed(100_000)))?.[1])
    expect([listed(most), listed(most + 1)]).toEqual([
      'fine',
      `streaming.allowedIpAddresses must be a list of at most ${most}`,
    ])
  })
})
