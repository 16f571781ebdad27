import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { forwardedPrefix, peerResolver } from '../../src/edge/http/peer.ts'

const PROXIES = ['10.0.0.1', '10.0.0.2', 'fd00::1']
const isTrusted = ({ text }: { readonly text: string }): boolean => PROXIES.includes(text)
const peerOf = peerResolver(isTrusted)
const seen = (forwarded: string | string[] | undefined, socket: string | undefined = '10.0.0.1'): string =>
  peerOf(socket, { 'x-forwarded-for': forwarded }).text

describe('the address of a client', () => {
  const anything = fc.oneof(fc.string({ unit: 'binary' }), fc.ipV4(), fc.constantFrom(...PROXIES, 'unknown', '::1'))
  const proxies = fc.array(fc.constantFrom(...PROXIES), { maxLength: 4 })
  const client = fc.constantFrom('192.0.2.1', '2001:db8::1')

  it('is that of its connection, whatever it says, unless that is of a trusted proxy', () => {
    fc.assert(
      fc.property(client, fc.array(anything), (from, said) => {
        expect(seen(said.join(), from)).toBe(from)
      }),
    )
    expect(seen('192.0.2.1', undefined)).toBe('192.0.2.1')
    expect(peerOf(undefined, {}).text).toBe('::')
  })

  it('is the last one that is none of the proxies, and nothing that the client said before counts', () => {
    fc.assert(
      fc.property(
        fc.array(anything),
        client,
        proxies,
        fc.constantFrom(',', ', ', ' ,\t'),
        (said, from, passed, joint) => {
          expect(seen([...said, from, ...passed].join(joint))).toBe(from)
        },
      ),
    )
    expect(seen(['192.0.2.9', '192.0.2.1, 10.0.0.2'])).toBe('192.0.2.1')
  })

  it('is that of the proxy that passed on what is no address', () => {
    const garbage = ['unknown', '_hidden', '', '1.2.3', '1.2.3.4:', '192.0.2.1:80:80', '[2001:db8::1', 'x'.repeat(9999)]
    fc.assert(
      fc.property(fc.array(anything), fc.constantFrom(...garbage), proxies, (said, wrong, passed) => {
        expect(seen([...said, wrong, ...passed].join(','))).toBe(passed[0] ?? '10.0.0.1')
      }),
    )
    expect([seen(undefined), seen(PROXIES.join())]).toEqual(['10.0.0.1', '10.0.0.1'])
  })

  it.each([
    ['192.0.2.1:5678', '192.0.2.1'],
    ['[2001:db8::1]:5678', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
  ])('may be written as %s', (written, address) => expect(seen(written)).toBe(address))
})

describe('the prefix of paths that a proxy has removed', () => {
  const prefixOf = (prefix: string | string[] | undefined, remoteAddress: string | undefined = '10.0.0.1') =>
    forwardedPrefix(isTrusted, { headers: { 'x-forwarded-prefix': prefix }, socket: { remoteAddress } })

  it('is taken from a trusted proxy, without a slash at its end', () => {
    expect([prefixOf('/live'), prefixOf('/a/b-1.2~/')]).toEqual(['/live', '/a/b-1.2~'])
    for (const stranger of ['192.0.2.1', '', 'x']) expect(prefixOf('/live', stranger)).toBe('')
    for (const none of [undefined, '', '/', 'live', '//evil.example', '/a b', '/a?b', '/a"', ['/a', '/b']])
      expect(prefixOf(none)).toBe('')
    expect([prefixOf(`/${'a'.repeat(254)}`).length, prefixOf(`/${'a'.repeat(255)}`)]).toEqual([255, ''])
    expect([prefixOf('/a'.repeat(8)), prefixOf('/a'.repeat(9))]).toEqual(['/a'.repeat(8), ''])
  })
})
