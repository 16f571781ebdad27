import type { TokenKind } from '../tokens/tokenForm.ts'

/** Bytes of one token, as the report answers them. */
export interface TokenUsage {
  /** Absent: viewers without a token. */
  readonly tokenId?: number | undefined
  readonly bytesOut: number
  readonly bytesIn: number
}

/** The kind of a token that no list names, such as a deleted one: a publish token brings media in. */
export const kindOfUsage = ({ bytesIn, bytesOut }: TokenUsage): TokenKind =>
  bytesIn > bytesOut ? 'publish' : 'subscribe'

type Moved = { readonly bytesOut: number; readonly bytesIn: number }

/** One direction of a protocol. */
export interface ProtocolUsage {
  readonly protocol: string
  readonly direction: 'out' | 'in'
  readonly bytes: number
}

/** The directions with traffic of each protocol, the most first. */
export const protocolRows = (byProtocol: Readonly<Record<string, Moved>>): readonly ProtocolUsage[] =>
  Object.entries(byProtocol)
    .flatMap(([protocol, { bytesOut, bytesIn }]): ProtocolUsage[] => [
      { protocol, direction: 'out', bytes: bytesOut },
      { protocol, direction: 'in', bytes: bytesIn },
    ])
    .filter(({ bytes }) => bytes > 0)
    .toSorted((one, other) => other.bytes - one.bytes)
