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
  const v4 = parseV4(text)
  if (v4 !== null) return isPublicV4(v4)
  const v6 = parseV6(text)
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

function startsWith(groups: readonly number[], prefix: readonly number[], bits: number): boolean {
  return prefix.every((value, i) => {
    const kept = Math.min(16, Math.max(0, bits - 16 * i))
    const mask = (0xffff << (16 - kept)) & 0xffff
    return ((groups[i] ?? 0) & mask) === value
  })
}

/** Parses four decimal numbers without leading zeros as an unsigned 32-bit number; null for other text. */
export function parseV4(text: string): number | null {
  if (!/^(?:(?:0|[1-9]\d{0,2})\.){3}(?:0|[1-9]\d{0,2})$/.test(text)) return null
  const parts = text.split('.').map(Number)
  if (parts.some((part) => part > 255)) return null
  return parts.reduce((sum, part) => sum * 256 + part, 0)
}

/** The eight 16-bit groups of an IPv6 address (RFC 4291 section 2.2); null for other text and for a zone id. */
export function parseV6(text: string): number[] | null {
  const halves = text.split('::')
  if (halves.length > 2) return null
  const [head, tail] = halves.map(parseGroups)
  if (!head || tail === null) return null
  if (tail === undefined) return head.length === 8 ? head : null
  const zeros = 8 - head.length - tail.length
  return zeros < 1 ? null : [...head, ...Array<number>(zeros).fill(0), ...tail]
}

/** Parses groups between colons. The last may be a dotted IPv4 address, which counts as two. */
function parseGroups(text: string, half: number, halves: readonly string[]): number[] | null {
  if (text === '') return halves.length === 2 ? [] : null
  const words = text.split(':')
  const last = words.at(-1) ?? ''
  const v4 = half === halves.length - 1 ? parseV4(last) : null
  const hex = v4 === null ? words : words.slice(0, -1)
  if (!hex.every((word) => /^[0-9a-f]{1,4}$/i.test(word))) return null
  const groups = hex.map((word) => Number.parseInt(word, 16))
  return v4 === null ? groups : [...groups, v4 >>> 16, v4 & 0xffff]
}

function parseV4Range(text: string): { base: number; mask: number } {
  const [address = '', bits = ''] = text.split('/')
  const base = parseV4(address)
  if (base === null) throw new Error(`not an IPv4 range: ${text}`)
  return { base, mask: (0xffffffff << (32 - Number(bits))) >>> 0 }
}
