/** ICE candidates as SDP writes them: RFC 8839 section 5.1, over TCP RFC 6544 section 4.5. */

export interface Candidate {
  readonly transport: 'udp' | 'tcp'
  /** An address, or a name such as `1234.local`. */
  readonly address: string
  readonly port: number
  readonly priority: number
  readonly type: 'host' | 'srflx' | 'prflx' | 'relay'
  /** Null over UDP. */
  readonly tcpType: 'active' | 'passive' | 'so' | null
}

const CANDIDATE =
  /^[\w+/]{1,32} ([12]) (udp|tcp) (\d{1,10}) (\S{1,255}) (\d{1,5}) typ (host|srflx|prflx|relay)(?: (.*))?$/i

/** Reads what follows `a=candidate:`. Null for another component than RTP, another transport, and nonsense. */
export function parseCandidate(value: string): Candidate | null {
  const match = CANDIDATE.exec(value)
  if (match === null || match[1] !== '1') return null
  const transport = match[2]?.toLowerCase() === 'udp' ? 'udp' : 'tcp'
  const [priority, port] = [Number(match[3]), Number(match[5])]
  if (priority > 0xffffffff || port > 65535) return null
  const type = (match[6] ?? '').toLowerCase() as Candidate['type']
  const tcpType = /(?:^| )tcptype (active|passive|so)(?: |$)/.exec(match[7] ?? '')?.[1] as
    | Candidate['tcpType']
    | undefined
  if (transport === 'tcp' && tcpType === undefined) return null
  return {
    transport,
    address: match[4] ?? '',
    port,
    priority,
    type,
    tcpType: transport === 'udp' ? null : (tcpType ?? null),
  }
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
