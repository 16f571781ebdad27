import { isIPv4, isIPv6, BlockList } from 'node:net'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  addressKeyOf,
  matchesAddress,
  networkKey,
  parseAddress,
  parseAddressRule,
} from '../../../src/core/access/address.ts'

const text = (input: string): string | null => parseAddress(input)?.text ?? null

it.each([
  ['192.0.2.7', '192.0.2.7', null],
  ['::ffff:192.0.2.7', '192.0.2.7', null],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64', '2001:db8:1::/48'],
  ['2001:DB8:1:ffff::9%eth0', '2001:db8:1:ffff::/64', '2001:db8:1::/48'],
  ['2001:db8::1', '2001:db8::/64', '2001:db8::/48'],
  ['fe80::1', 'fe80::/64', 'fe80::/48'],
  ['::1', '::/64', '::/48'],
  ['nobody', 'nobody', null],
])('%s counts as %s, in %s', (from, key, network) => {
  expect([addressKeyOf(from), networkKey(addressKeyOf(from))]).toEqual([key, network])
})

describe('parseAddress', () => {
  it.each([
    '',
    '1',
    '1.2.3',
    '1.2.3.4.5',
    '01.2.3.4',
    '1.2.3.04',
    '0x7f.0.0.1',
    '256.1.1.1',
    '1.2.3.-4',
    '1.2.3.4 ',
    ' 1.2.3.4',
    '1..2.3',
    '.1.2.3.4',
    '1.2.3.4.',
    '１.2.3.4',
    '1.2.3.4\n',
    ':',
    ':::',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7:8::',
    ':1:2:3:4:5:6:7:8',
    '1:2:3:4:5:6:7:',
    '12345::',
    'g::',
    '::1.2.3',
    '::01.2.3.4',
    '1.2.3.4::',
    '::1.2.3.4:5',
    '[::1]',
    '::1%',
    '::1%a b',
  ])('refuses %j', (input) => expect(parseAddress(input)).toBeNull())

  it.each([
    ['0.0.0.0', '0.0.0.0'],
    ['255.255.255.255', '255.255.255.255'],
    ['::', '::'],
    ['::1', '::1'],
    ['1::', '1::'],
    ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['::FFFF:0102:0304', '1.2.3.4'],
    ['::ffff:1.2.3.4%1', '1.2.3.4'],
    ['::fffe:1.2.3.4', '::fffe:102:304'],
    ['64:ff9b::1.2.3.4', '64:ff9b::102:304'],
  ])('reads %s as %s', (input, canonical) => expect(text(input)).toBe(canonical))

  it('agrees with the runtime on which texts are addresses', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.ipV4(),
          fc.ipV4Extended(),
          fc.ipV6(),
          fc.string({ unit: fc.constantFrom(...Array.from('0123af:.')) }),
        ),
        (s) => {
          expect(parseAddress(s) !== null).toBe(isIPv4(s) || isIPv6(s))
        },
      ),
      { numRuns: 2000 },
    )
  })

  it('gives canonical IPv6 as the URL standard does', () => {
    fc.assert(
      fc.property(fc.ipV6(), (s) => {
        const address = parseAddress(s)
        if (address?.family === 6) expect(`[${address.text}]`).toBe(new URL(`http://[${s}]/`).hostname)
      }),
    )
  })

  it('reads a mapped address as the IPv4 address in it', () => {
    fc.assert(
      fc.property(fc.ipV4(), (s) => {
        expect(parseAddress(`::ffff:${s}`)).toEqual(parseAddress(s))
      }),
    )
  })
})

describe('parseAddressRule', () => {
  it.each([
    ['10.1.2.3', '10.1.2.3'],
    ['10.1.2.3/32', '10.1.2.3'],
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['255.255.255.255/1', '128.0.0.0/1'],
    ['1.2.3.4/0', '0.0.0.0/0'],
  ])('stores %s as %s', (input, canonical) =>
    expect(parseAddressRule(input)).toMatchObject({ ok: true, value: { text: canonical } }),
  )

  it.each([
    ['10.0.0.1-10.0.0.9', /ranges are not supported/],
    ['10.0.0.*', /wildcards are not supported/],
    ['2001:db8::/32', /IPv6 is not supported/],
    ['::ffff:10.0.0.1', /IPv6 is not supported/],
    ['10.0.0.0/33', /0 to 32/],
    ['10.0.0.0/08', /0 to 32/],
    ['10.0.0.0/', /0 to 32/],
    ['10.0.0.0/8/8', /0 to 32/],
    ['10.0.0.0/255.0.0.0', /0 to 32/],
    ['010.0.0.1', /leading zeros/],
    ['10.0', /not an IPv4 address/],
    ['', /not an IPv4 address/],
    ['example.com', /not an IPv4 address/],
  ])('refuses %s and says why', (input, why) => {
    const rule = parseAddressRule(input)
    expect(rule.ok ? '' : rule.error).toMatch(why)
  })

  it('covers no address of IPv6, also as the widest network and as none', () => {
    const all = parseAddressRule('0.0.0.0/0')
    const address = parseAddress('2001:db8::1') ?? expect.fail()
    for (const rules of [all.ok ? [all.value] : expect.fail(), []]) expect(matchesAddress(rules, address)).toBe(false)
  })

  it('covers exactly the addresses of the network', () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.integer({ min: 0, max: 32 }), fc.ipV4(), (base, prefix, peer) => {
        const rule = parseAddressRule(`${base}/${prefix}`)
        const address = parseAddress(peer)
        const expected = new BlockList()
        expected.addSubnet(base, prefix, 'ipv4')
        if (!rule.ok || address === null) throw new Error('generated addresses are valid')
        expect(matchesAddress([rule.value], address)).toBe(expected.check(peer, 'ipv4'))
        expect(parseAddressRule(rule.value.text)).toEqual(rule)
      }),
      { numRuns: 500 },
    )
  })
})
