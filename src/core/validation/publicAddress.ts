import { groupMask, ipv6Groups, parseIpv4 } from '../../base/ipText.ts'

/**
 * Which IP addresses belong to the public internet. An address is refused unless it is provably public, so an
 * unknown form can only be refused wrongly, never allowed wrongly. The ranges are all entries of the IANA
 * special-purpose registries (RFC 6890). Anycast services (AS112, AMT) are listed there as globally reachable. The
 * nearest node answers for them and may be in the local network, so they are refused too.
 */

/**
 * IPv4 ranges that are not public. The last one lies in public space, but one cloud serves its machines' secrets
 * there.
 */
const REFUSED_V4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carrier-grade NAT; one cloud's metadata is here
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link-local; most clouds' metadata is here
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments; one cloud's metadata is here
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
  '168.63.129.16/32', // platform endpoint of a cloud
].map(parseV4Range)

/**
 * Prefixes of NAT64, which leads to the IPv4 address in the last 32 bits (RFC 6052 section 2.2). Name servers of IPv6 networks
 * (DNS64) give such an address to each host that has IPv4 only. Of the prefix for local use (RFC 8215) it is the first /96: in
 * the others the place of the IPv4 address depends on the network.
 */
const NAT64: readonly (readonly number[])[] = [
  [0x64, 0xff9b, 0, 0, 0, 0],
  [0x64, 0xff9b, 1, 0, 0, 0],
]

/**
 * IPv6: only 2000::/3 is assigned to the public. That excludes loopback, mapped and compatible IPv4 (`::/96`), unique
 * local, link-local, multicast and SRv6. The ranges below are excluded from it again.
 */
const REFUSED_V6: readonly (readonly [prefix: readonly number[], bits: number])[] = [
  [[0x2001, 0x0000], 23], // protocol assignments: Teredo, benchmarks, AMT, AS112, ORCHID, drones
  [[0x2001, 0x0db8], 32], // documentation
  [[0x2002], 16], // 6to4: carries an IPv4 address
  [[0x2620, 0x004f, 0x8000], 48], // AS112
  [[0x3fff, 0x0000], 20], // documentation
]

/**
 * True for an address in plain text form that may be dialled on behalf of an untrusted user. A zone id is never
 * public.
 */
export function isPublicAddress(text: string): boolean {
  const v4 = parseIpv4(text)
  if (v4 !== null) return isPublicV4(v4)
  const v6 = ipv6Groups(text)
  return v6 !== null && isPublicV6(v6)
}

const isPublicV4 = (v4: number): boolean => !REFUSED_V4.some(({ base, mask }) => (v4 & mask) >>> 0 === base)

function isPublicV6(groups: readonly number[]): boolean {
  const [first = 0, , , , , , high = 0, low = 0] = groups
  if (NAT64.some((prefix) => startsWith(groups, prefix, 96))) return isPublicV4(high * 65_536 + low)
  if (first >> 13 !== 0b001) return false
  if (REFUSED_V6.some(([prefix, bits]) => startsWith(groups, prefix, bits))) return false
  return !isIsatap(groups)
}

/** Whether the interface identifier carries an IPv4 address, under any prefix (RFC 5214 section 6.1). */
function isIsatap(groups: readonly number[]): boolean {
  return ((groups[4] ?? 0) & 0xfdff) === 0 && groups[5] === 0x5efe
}

/** Whether an address, by its groups, is in a network. */
export const startsWith = (groups: readonly number[], prefix: readonly number[], bits: number): boolean =>
  prefix.every((value, i) => ((groups[i] ?? 0) & groupMask(bits, i)) === value)

function parseV4Range(text: string): { base: number; mask: number } {
  const [address = '', bits = ''] = text.split('/')
  const base = parseIpv4(address)
  if (base === null) throw new Error(`not an IPv4 range: ${text}`)
  return { base, mask: (0xffffffff << (32 - Number(bits))) >>> 0 }
}
