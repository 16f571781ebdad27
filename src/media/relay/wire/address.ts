import { ipv6Groups, parseIpv4 } from '../../../base/ipText.ts'

/**
 * The bytes of an IP address in network order: 4 for IPv4 and for IPv4-mapped IPv6 (what a dual-stack socket shows for
 * an IPv4 peer), else 16. A zone (`%eth0`) is dropped. Null for what is no address.
 */
export function addressBytes(text: string): Buffer | null {
  const bare = text.split('%', 1)[0] ?? ''
  return bare.includes(':') ? unmapped(v6Bytes(bare)) : v4Bytes(bare)
}

function v4Bytes(text: string): Buffer | null {
  const value = parseIpv4(text)
  if (value === null) return null
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

function v6Bytes(text: string): Buffer | null {
  const groups = ipv6Groups(text)
  return groups === null ? null : Buffer.from(groups.flatMap((group) => [group >> 8, group & 255]))
}

const MAPPED = Buffer.from('00000000000000000000ffff', 'hex')

const unmapped = (bytes: Buffer | null): Buffer | null =>
  bytes?.subarray(0, 12).equals(MAPPED) === true ? bytes.subarray(12) : bytes
