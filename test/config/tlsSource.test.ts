import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { formatConfigProblem } from '../../src/config/problem.ts'
import type { PartialConfig } from '../../src/config/schema.ts'
import { speaksTls, tlsSource } from '../../src/config/tlsSource.ts'

const sourceOf = (flags: PartialConfig) => {
  const config = loadConfig({ env: {}, flags })
  if (!config.ok) throw new Error(config.error.map(formatConfigProblem).join('\n'))
  return { source: tlsSource(config.value), isTls: speaksTls(config.value) }
}
const acme = { domains: ['live.example.com'], agreeToTerms: true }

describe('where the certificate comes from', () => {
  test.each([
    [{}, null],
    [{ certFile: 'c', keyFile: 'k', redirectPort: 80 }, 'files'],
    [{ selfSigned: true }, 'self-signed'],
    [{ acme, redirectPort: 80 }, 'acme'],
  ])('%j', (tls, value) => {
    expect(sourceOf({ tls })).toEqual({ source: { ok: true, value }, isTls: value !== null })
  })

  test.each([
    [{ certFile: 'c' }, 'belong together'],
    [{ keyFile: 'k' }, 'belong together'],
    [{ selfSigned: true, acme, redirectPort: 80 }, 'choose one of'],
    [{ acme: { domains: acme.domains }, redirectPort: 80 }, 'tls.acme.agreeToTerms must be true'],
    [{ acme }, 'needs tls.redirectPort'],
    [{ redirectPort: 80 }, 'tls.redirectPort needs a certificate'],
  ])('%j is refused', (tls, problem) => {
    expect(sourceOf({ tls }).source).toMatchObject({ ok: false, error: expect.stringContaining(problem) })
  })

  test('RTMPS needs a certificate', () => {
    const error = expect.stringContaining('rtmp.tlsPort needs a certificate')
    expect(sourceOf({ rtmp: { tlsPort: 1936 } }).source).toMatchObject({ ok: false, error })
  })

  test.each(['*.example.com', '10.0.0.1', 'localhost', 'a..b', '-a.example.com'])(
    '%s is no domain for ACME',
    (name) => {
      expect(() => sourceOf({ tls: { acme: { domains: [name] } } })).toThrow('is not a domain name')
    },
  )

  test('the directory of ACME has https', () => {
    expect(() => sourceOf({ tls: { acme: { directoryUrl: 'http://ca.example.com/' } } })).toThrow('not a URL of https')
  })
})
