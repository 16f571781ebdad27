import { err, ok, type Result } from '../../base/result.ts'
import { formatIpv6, groupMask, ipv6Groups } from '../../base/ipText.ts'
import { type Address, parseAddress } from '../access/address.ts'
import { startsWith } from '../validation/publicAddress.ts'

/** The addresses of one family that begin with the same bits. */
export interface Network {
  /** 16-bit groups: two of IPv4, eight of IPv6. */
  readonly groups: readonly number[]
  readonly bits: number
  /** Canonical: the host bits are cleared. */
  readonly text: string
}

const ALLOWED = 'must be an address or a network such as 198.51.100.0/24 or 2001:db8::/32'

/** Parses an IPv4 or IPv6 address or network. The error is a predicate after the field name. */
export function parseNetwork(text: string): Result<Network, string> {
  const [head = '', prefix, ...rest] = text.split('/')
  const address = head.includes('%') ? null : parseAddress(head)
  if (!address || rest.length > 0) return err(ALLOWED)
  // For an IPv4-mapped IPv6 address the prefix could belong to either family.
  if (address.family === 4 && head.includes(':')) return err(`must be written as IPv4: ${address.text}`)
  const groups = groupsOf(address)
  const longest = groups.length * 16
  const bits = prefix === undefined ? longest : prefixOf(prefix, longest)
  if (bits === null) return err(`has a prefix that is not from 0 to ${longest}`)
  const masked = groups.map((group, index) => group & groupMask(bits, index))
  const canonical = addressText(masked)
  return ok({ groups: masked, bits, text: bits === longest ? canonical : `${canonical}/${bits}` })
}

export function isInNetwork(network: Network, address: Address): boolean {
  const groups = groupsOf(address)
  return groups.length === network.groups.length && startsWith(groups, network.groups, network.bits)
}

function groupsOf(address: Address): readonly number[] {
  if (address.family === 4) return [address.value >>> 16, address.value & 0xffff]
  return ipv6Groups(address.text) ?? []
}

function prefixOf(text: string, longest: number): number | null {
  const bits = /^(0|[1-9]\d{0,2})$/.test(text) ? Number(text) : longest + 1
  return bits <= longest ? bits : null
}

const addressText = (groups: readonly number[]): string =>
  groups.length === 8 ? formatIpv6(groups) : groups.flatMap((group) => [group >> 8, group & 0xff]).join('.')
