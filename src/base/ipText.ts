const DOT = 0x2e
const ZERO = 0x30

/**
 * Four decimal numbers from 0 to 255 without leading zeros, as an unsigned 32-bit number; null for other text. Some programs
 * read `010.1.2.3` as octal, so it is refused.
 */
export function parseIpv4(text: string): number | null {
  if (text.length < 7 || text.length > 15) return null
  let value = 0
  let octet = -1
  let dots = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === DOT) {
      if (octet < 0 || ++dots > 3) return null
      value = value * 256 + octet
      octet = -1
    } else {
      if (code < ZERO || code > ZERO + 9 || octet === 0) return null
      octet = octet < 0 ? code - ZERO : octet * 10 + code - ZERO
      if (octet > 255) return null
    }
  }
  return dots === 3 && octet >= 0 ? value * 256 + octet : null
}

export const formatIpv4 = (value: number): string =>
  `${value >>> 24}.${(value >>> 16) & 255}.${(value >>> 8) & 255}.${value & 255}`

/** The eight 16-bit groups of an IPv6 address (RFC 4291 section 2.2); null for other text and for a zone. */
export function ipv6Groups(text: string): number[] | null {
  const halves = text.split('::')
  if (halves.length > 2) return null
  const compressed = halves.length === 2
  const head = hexGroups(halves[0] ?? '', !compressed)
  const tail = compressed ? hexGroups(halves[1] ?? '', true) : []
  if (head === null || tail === null) return null
  const missing = 8 - head.length - tail.length
  if (compressed ? missing < 1 : missing !== 0) return null
  return [...head, ...Array<number>(missing).fill(0), ...tail]
}

/** Parses the groups on one side of `::`. Only the last group of the address may be a dotted quad. */
function hexGroups(text: string, isEnd: boolean): number[] | null {
  if (text === '') return []
  const parts = text.split(':')
  const groups: number[] = []
  for (const [index, part] of parts.entries()) {
    if (/^[0-9a-f]{1,4}$/i.test(part)) {
      groups.push(Number.parseInt(part, 16))
    } else {
      const quad = isEnd && index === parts.length - 1 ? parseIpv4(part) : null
      if (quad === null) return null
      groups.push(quad >>> 16, quad & 0xffff)
    }
  }
  return groups
}

/** The mask of the group at `index` for a prefix of so many bits. */
export function groupMask(bits: number, index: number): number {
  const ones = Math.min(16, Math.max(0, bits - 16 * index))
  return (0xffff << (16 - ones)) & 0xffff
}

/** RFC 5952 section 4: lower case, no leading zeros, the first longest run of two or more zero groups as `::`. */
export function formatIpv6(groups: readonly number[]): string {
  const { start, length } = longestZeroRun(groups)
  const hex = groups.map((group) => group.toString(16))
  if (length < 2) return hex.join(':')
  return `${hex.slice(0, start).join(':')}::${hex.slice(start + length).join(':')}`
}

function longestZeroRun(groups: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 }
  let length = 0
  for (const [index, group] of groups.entries()) {
    length = group === 0 ? length + 1 : 0
    if (length > best.length) best = { start: index + 1 - length, length }
  }
  return best
}
