import { formatIpv4, formatIpv6, ipv6Groups, parseIpv4 } from '../../base/ipText.ts'
import { err, ok, type Result } from '../../base/result.ts'

/** A peer address in canonical form. An IPv4-mapped IPv6 address is the IPv4 address that it carries. */
export type Address =
  | {
      readonly family: 4
      /** Unsigned 32 bit, network order. */
      readonly value: number
      readonly text: string
    }
  | {
      readonly family: 6
      /** RFC 5952 text, without a zone. */
      readonly text: string
    }

/** One entry of `allowedIpAddresses`: the inclusive range of IPv4 addresses that it covers. */
export interface AddressRule {
  readonly first: number
  readonly last: number
  /** Canonical: `a.b.c.d` for one address, else `network/prefix` with the host bits cleared. */
  readonly text: string
}

/** 8 groups of 4 digits, 7 colons and a dotted quad are at most 45 characters; the rest is room for a zone. */
const MAX_ADDRESS_LENGTH = 128
const ALLOWED = 'an IPv4 address (192.0.2.7) or an IPv4 network (192.0.2.0/24) is allowed'

/** Parses one address from a socket, a header or a request. Null when it is invalid. */
export function parseAddress(text: string): Address | null {
  const value = parseIpv4(text)
  // A parsed dotted quad has only this one spelling.
  if (value !== null) return { family: 4, value, text }
  return text.length <= MAX_ADDRESS_LENGTH && text.includes(':') ? parseIpv6(text) : null
}

/**
 * Parses one entry of an address list. Host bits that are set in a network are cleared; `/32` becomes the plain
 * address. Ranges, wildcards and IPv6 are refused, and the error says which forms are allowed.
 */
export function parseAddressRule(text: string): Result<AddressRule, string> {
  const slash = text.indexOf('/')
  const value = parseIpv4(slash < 0 ? text : text.slice(0, slash))
  if (value === null) return err(whyNotIpv4(text))
  const prefix = slash < 0 ? 32 : parsePrefix(text.slice(slash + 1))
  if (prefix === null) return err('the prefix length after the slash must be a number from 0 to 32')
  return ok(network(value, prefix))
}

/** Whether one of the rules matches the address. None matches an IPv6 address: the lists are IPv4 only. */
export function matchesAddress(rules: readonly AddressRule[], address: Address): boolean {
  if (address.family === 6) return false
  const value = address.value
  for (const rule of rules) if (value >= rule.first && value <= rule.last) return true
  return false
}

/**
 * The key under which sessions and attempts of an address are counted. A host with one IPv6 address usually has its
 * whole /64 (RFC 6177), so the /64 is one key: `2001:db8:0:7::/64`.
 */
export function addressKey({ family, text }: Pick<Address, 'family' | 'text'>): string {
  if (family === 4) return text
  const network = (ipv6Groups(text) ?? []).map((group, index) => (index < 4 ? group : 0))
  return `${formatIpv6(network)}/64`
}

/**
 * The network around an address, by its key: the /48, which a site usually has (RFC 6177), so that it may use 65,536 keys. Null: an
 * IPv4 address stands for itself.
 */
export function networkKey(key: string): string | null {
  if (!key.endsWith('/64')) return null
  const network = (ipv6Groups(key.slice(0, -3)) ?? []).map((group, index) => (index < 3 ? group : 0))
  return `${formatIpv6(network)}/48`
}

/** The key of an address as a socket has it. Other text is its own key. */
export function addressKeyOf(text: string): string {
  const address = parseAddress(text)
  return address === null ? text : addressKey(address)
}

const ipv4 = (value: number): Address => ({ family: 4, value, text: formatIpv4(value) })

function network(value: number, prefix: number): AddressRule {
  const size = 2 ** (32 - prefix)
  const first = value - (value % size)
  const text = prefix === 32 ? formatIpv4(first) : `${formatIpv4(first)}/${prefix}`
  return { first, last: first + size - 1, text }
}

function parsePrefix(text: string): number | null {
  if (!/^(?:0|[1-9]\d?)$/.test(text)) return null
  const prefix = Number(text)
  return prefix <= 32 ? prefix : null
}

function whyNotIpv4(text: string): string {
  if (text.includes(':')) return `IPv6 is not supported here; ${ALLOWED}`
  if (text.includes('*')) return `wildcards are not supported; ${ALLOWED}`
  if (text.includes('-')) return `ranges are not supported; ${ALLOWED}`
  return `not an IPv4 address in dotted decimal without leading zeros; ${ALLOWED}`
}

/** Parses all three forms of RFC 4291 section 2.2. An RFC 4007 zone is allowed and dropped. */
function parseIpv6(text: string): Address | null {
  const groups = ipv6Groups(withoutZone(text))
  if (groups === null) return null
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  if (!mapped) return { family: 6, text: formatIpv6(groups) }
  return ipv4((groups[6] ?? 0) * 65_536 + (groups[7] ?? 0))
}

/** A zone names an interface of this machine and says nothing about the peer. */
const withoutZone = (text: string): string => text.replace(/%[\w.~-]+$/, '')
