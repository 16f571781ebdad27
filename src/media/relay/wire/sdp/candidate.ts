/** ICE candidates as SDP writes them: RFC 8839 section 5.1, over TCP RFC 6544 section 4.5. */

/** An address of the other side over UDP. Its connections over TCP come to us. */
export interface Candidate {
  /** An address, or a name such as `1234.local`. */
  readonly address: string
  readonly port: number
  readonly priority: number
}

const CANDIDATE = /^[\w+/]{1,32} 1 udp (\d{1,10}) (\S{1,255}) (\d{1,5}) typ (?:host|srflx|prflx|relay)(?: .*)?$/i

/** Reads what follows `a=candidate:`. Null for another component than RTP, another transport, and nonsense. */
export function parseCandidate(value: string): Candidate | null {
  const match = CANDIDATE.exec(value)
  const [priority, address = '', port] = [Number(match?.[1]), match?.[2], Number(match?.[3])]
  return priority <= 0xffffffff && port <= 65535 ? { address, port, priority } : null
}

/** An address that we can be reached at. */
export interface HostAddress {
  readonly transport: 'udp' | 'tcp'
  /** Text, without a zone. */
  readonly address: string
  readonly port: number
}

/**
 * The `a=candidate` lines of our own addresses, the most wanted first. UDP is preferred to TCP by its type preference
 * (RFC 8421, RFC 6544 section 4.2), the addresses of one transport by their order.
 */
export const candidateLines = (hosts: readonly HostAddress[]): string[] =>
  hosts.map(({ transport, address, port }, index) => {
    const local = transport === 'udp' ? 65_535 - index : (4 << 13) + 8191 - index
    const priority = (transport === 'udp' ? 126 : 90) * 2 ** 24 + local * 256 + 255
    const suffix = transport === 'tcp' ? ' tcptype passive' : ''
    return `a=candidate:${index + 1} 1 ${transport} ${priority} ${address} ${port} typ host${suffix}`
  })
