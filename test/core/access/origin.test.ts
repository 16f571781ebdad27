import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { matchesOrigin, type OriginRule, parseOriginRule } from '../../../src/core/access/origin.ts'

function rule(text: string): OriginRule {
  const parsed = parseOriginRule(text)
  if (!parsed.ok) throw new Error(parsed.error)
  return parsed.value
}

describe('parseOriginRule', () => {
  it.each([
    ['Example.COM', 'example.com'],
    ['*.Example.com', '*.example.com'],
    ['HTTPS://Example.com:443', 'https://example.com'],
    ['http://example.com:80', 'http://example.com'],
    ['http://example.com:443', 'http://example.com:443'],
    ['example.com:443', 'example.com:443'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['ｅxample.com', 'example.com'],
    ['example。com', 'example.com'],
    ['my_host.internal', 'my_host.internal'],
    ['localhost', 'localhost'],
    ['192.0.2.1:8080', '192.0.2.1:8080'],
    ['[2001:DB8:0::1]', '[2001:db8::1]'],
    ['Capacitor://Localhost', 'capacitor://localhost'],
    ['app://player:80', 'app://player:80'],
  ])('stores %s as %s', (text, canonical) => expect(rule(text).text).toBe(canonical))

  it.each([
    ['*', /bare \*/],
    ['https://*', /wildcard/],
    ['*.*.com', /wildcard/],
    ['a.*.com', /wildcard/],
    ['*example.com', /wildcard/],
    ['null', /null origin/],
    ['https://example.com/', /path/],
    ['example.com?x', /path/],
    ['example.com#x', /path/],
    ['a@example.com', /user information/],
    ['app://*.example.com', /http and https only/],
    ['tauri://', /not an origin/],
    ['javascript:alert(1)', /not an origin/],
    ['a,b', /not a valid domain/],
    ['a..b', /not a valid domain/],
    ['example.com.', /not a valid domain/],
    ['0x7f.1', /not a valid domain/],
    ['2130706433', /not a valid domain/],
    ['192.0.2', /not a valid domain/],
    ['ex%61mple.com', /not a valid domain/],
    ['exa\u00admple.com\u0085', /not a/],
    ['exa\nmple.com', /not an origin/],
    ['a b', /not an origin/],
    ['*.192.0.2.1', /no subdomains/],
    ['*.[::1]', /no subdomains/],
    ['example.com:0', /port/],
    ['example.com:65536', /port/],
    ['example.com:080', /port/],
    ['[::1', /not an origin/],
    ['', /1 to 255/],
    ['a'.repeat(256), /1 to 255/],
  ])('refuses %s and says why', (text, why) => {
    const parsed = parseOriginRule(text)
    expect(parsed.ok ? 'ok' : parsed.error).toMatch(why)
  })
})

describe('matchesOrigin', () => {
  it('lets a wildcard match every depth of subdomain and never the host itself', () => {
    const rules = [rule('*.example.com')]
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z][a-z0-9]{0,5}$/), { minLength: 1, maxLength: 5 }), (labels) => {
        expect(matchesOrigin(rules, `https://${labels.join('.')}.example.com`)).toBe(true)
        expect(matchesOrigin(rules, `https://${labels.join('')}example.com`)).toBe(false)
      }),
    )
    expect(matchesOrigin(rules, 'https://example.com')).toBe(false)
    expect(matchesOrigin(rules, 'https://.example.com')).toBe(false)
  })

  it('matches nothing without rules or without a header', () => {
    expect(matchesOrigin([], 'https://example.com')).toBe(false)
    expect(matchesOrigin([rule('example.com')], null)).toBe(false)
  })

  it('matches the origin of an app only by a rule that writes out its scheme, and exactly', () => {
    const apps = [
      'capacitor://localhost',
      'ionic://localhost',
      'tauri://localhost',
      'app://player',
      'chrome-extension://abcdefghijklmnopabcdefghijklmnop',
      'moz-extension://0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0',
    ]
    for (const app of apps) {
      expect(apps.filter((origin) => matchesOrigin([rule(app)], origin))).toEqual([app])
      const { host, port } = new URL(app)
      expect(matchesOrigin([rule(host), rule(`http://${host}`), rule(`https://${host}`)], app)).toBe(false)
      expect(matchesOrigin([rule(app)], `https://${host}`)).toBe(false)
      expect([port, matchesOrigin([rule(app)], `${app}:80`), matchesOrigin([rule(`${app}:80`)], app)]).toEqual([
        '',
        false,
        false,
      ])
      expect(matchesOrigin([rule(`${app}:80`)], `${app}:80`)).toBe(true)
    }
    expect(matchesOrigin([rule('*.example.com'), rule('example.com:80')], 'app://a.example.com')).toBe(false)
    expect(matchesOrigin([rule('example.com:80')], 'app://example.com:80')).toBe(false)
  })

  it('matches the origin of every URL against a rule made of that origin', () => {
    fc.assert(
      fc.property(fc.webUrl({ validSchemes: ['http', 'https'] }), (url) => {
        const { origin } = new URL(url)
        const parsed = parseOriginRule(origin)
        if (parsed.ok) expect(matchesOrigin([parsed.value], origin)).toBe(true)
      }),
    )
  })
})
