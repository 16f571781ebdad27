import { BlockList, isIPv4, isIPv6 } from 'node:net'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ipv6Groups, parseIpv4 } from '../../src/base/ipText.ts'
import { isPublicAddress } from '../../src/core/validation/publicAddress.ts'
import { checkTarget } from '../../src/core/webhooks/target.ts'
import { cases } from '../support/randomCases.ts'

/** The same ranges a second time, for another implementation: Node's block list, one per family. */
const blocked4 = new BlockList()
const blocked6 = new BlockList()
for (const [base, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const) {
  blocked4.addSubnet(base, bits, 'ipv4')
}
blocked4.addAddress('168.63.129.16', 'ipv4')
for (const [base, bits] of [
  ['::', 3],
  ['4000::', 2],
  ['8000::', 1],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
] as const) {
  blocked6.addSubnet(base, bits, 'ipv6')
}

const octets = fc.oneof(
  fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)),
  fc.tuple(fc.constantFrom(10, 100, 127, 169, 172, 192, 198, 203), fc.nat(255), fc.nat(255), fc.nat(255)),
)
const dotted = octets.map((parts) => parts.join('.'))

/** Spellings of one IPv4 address that a URL parser reads as that address. */
const spellings = fc
  .tuple(octets, fc.constantFrom('dec', 'hex', 'oct', 'one', 'two', 'three'))
  .map(([[a, b, c, d], how]) => {
    const last2 = c * 256 + d
    const all = ((a * 256 + b) * 256 + c) * 256 + d
    const host = {
      dec: `${a}.${b}.${c}.${d}`,
      hex: [a, b, c, d].map((part) => `0x${part.toString(16)}`).join('.'),
      oct: [a, b, c, d].map((part) => `0${part.toString(8)}`).join('.'),
      one: String(all),
      two: `${a}.${b * 65_536 + last2}`,
      three: `0x${a.toString(16)}.${b}.${last2}`,
    }[how]
    return { host, address: `${a}.${b}.${c}.${d}` }
  })

describe('addresses', () => {
  test('of IPv4 are classified like the block list, in any spelling', () => {
    fc.assert(
      fc.property(spellings, fc.constantFrom('', '.'), ({ host, address }, dot) => {
        const expected = !blocked4.check(address, 'ipv4')
        expect(isPublicAddress(address)).toBe(expected)
        expect(checkTarget(`https://${host}${dot}/`, false).ok).toBe(expected)
      }),
      cases(2000),
    )
  })

  test('of IPv6 are classified like the block list, and parsed like Node', () => {
    const near = fc.tuple(fc.constantFrom('2001:', '2002:', '3fff:', '64:ff9b:', '::ffff:', 'fe80:', ''), fc.ipV6())
    const texts = fc.oneof(
      fc.ipV6(),
      near.map(([head, tail]) => head + tail),
      near.map(([head]) => `${head}:1`),
    )
    fc.assert(
      fc.property(texts, (text) => {
        expect(ipv6Groups(text) !== null).toBe(isIPv6(text))
        if (!isIPv6(text) || /5efe|^0*64:ff9b:/i.test(text)) return
        expect(isPublicAddress(text)).toBe(!blocked6.check(text, 'ipv6'))
      }),
      cases(5000),
    )
  })

  test('that carry IPv4 in IPv6 in another way are never public', () => {
    const prefixes = fc.constantFrom(
      '::',
      '::ffff:',
      '::ffff:0:',
      '64:ff9b:1:1::',
      '64:ff9b:2::',
      '2001:0:1::',
      'fe80::5efe:',
    )
    fc.assert(
      fc.property(prefixes, dotted, (prefix, address) => {
        expect(isPublicAddress(prefix + address)).toBe(false)
        expect(checkTarget(`https://[${prefix}${address}]/`, false).ok).toBe(false)
      }),
    )
  })

  test('of NAT64 are public when the IPv4 address in them is', () => {
    fc.assert(
      fc.property(fc.constantFrom('64:ff9b::', '64:ff9b:1::'), dotted, (prefix, address) => {
        const isPublic = !blocked4.check(address, 'ipv4')
        expect(isPublicAddress(prefix + address)).toBe(isPublic)
        expect(checkTarget(`https://[${prefix}${address}]/`, false).ok).toBe(isPublic)
      }),
      cases(2000),
    )
  })

  test('are those that Node accepts: no other text is public', () => {
    const odd = fc.string({
      unit: fc.constantFrom(...'0123456789abcdefx.:%[]/ -'.split('')),
      maxLength: 24,
      size: 'max',
    })
    const nearV4 = fc.array(fc.nat(300), { minLength: 4, maxLength: 4 }).map((parts) => parts.join('.'))
    fc.assert(
      fc.property(fc.oneof(odd, fc.string(), nearV4, fc.ipV4Extended(), fc.ipV6()), (text) => {
        if (isPublicAddress(text)) expect(isIPv4(text) || isIPv6(text)).toBe(true)
        if (parseIpv4(text) !== null) expect(isIPv4(text)).toBe(true)
      }),
      cases(5000),
    )
  })
})

describe('targets', () => {
  test('of any text give a result, and an accepted one is https to a host that is not private', () => {
    const pieces = fc.constantFrom(
      'https:',
      'http:',
      '//',
      '/',
      '@',
      ':',
      '[',
      ']',
      '127.0.0.1',
      '::1',
      'a.example',
      '%',
      '\\',
      '#',
    )
    const text = fc.oneof(
      fc.webUrl(),
      fc.string(),
      fc.array(pieces, { maxLength: 8 }).map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(text, (given) => {
        const result = checkTarget(given, false)
        if (!result.ok) return
        expect(result.value.protocol).toBe('https:')
        expect(result.value.username + result.value.password).toBe('')
        expect(result.value.hostname).toMatch(/\./)
        expect(result.value.hostname).not.toBe('127.0.0.1')
      }),
      cases(5000),
    )
  })
})
