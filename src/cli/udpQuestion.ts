import { createSocket } from 'node:dgram'
import { isIP } from 'node:net'

export interface UdpEndpoint {
  /** A name or an address, without brackets. */
  readonly host: string
  readonly port: number
}

/** The addresses of a name. Rejects within seconds when there is none. */
export type AddressesOf = (name: string) => Promise<string[]>

interface Question<T> {
  readonly addressesOf: AddressesOf
  /** One more request. */
  readonly request: () => Buffer
  /** What a datagram answers; null: it is no answer to one of the requests. */
  readonly read: (message: Buffer) => T | null
}

const ANSWER_MS = 2000
/** UDP may lose one. */
const SENT_AT_MS = [0, 500, 1000]

/** `HOST`, `HOST:PORT` or `[IPV6]:PORT`; null: it is none of them. */
export function udpEndpoint(text: string, defaultPort: number): UdpEndpoint | null {
  const [, host, port = String(defaultPort)] = /^(\[[\da-fA-F:.]+\]|[^:\s[\]]+)(?::(\d{1,5}))?$/.exec(text) ?? []
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535) return null
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
}

/** The first answer within two seconds of the first request; null: there was none, or the name has no address. */
export async function askOverUdp<T>(
  { host, port }: UdpEndpoint,
  { addressesOf, request, read }: Question<T>,
): Promise<T | null> {
  const [address] = isIP(host) ? [host] : await addressesOf(host).catch(() => [])
  if (address === undefined) return null
  const socket = createSocket({ type: isIP(address) === 6 ? 'udp6' : 'udp4' })
  const timers: NodeJS.Timeout[] = []
  try {
    return await new Promise<T | null>((resolve) => {
      socket.on('message', (message) => {
        const answer = read(message)
        if (answer !== null) resolve(answer)
      })
      socket.on('error', () => resolve(null))
      const send = (): void => socket.send(request(), port, address, (error) => error && resolve(null))
      timers.push(
        ...SENT_AT_MS.map((afterMs) => setTimeout(send, afterMs)),
        setTimeout(() => resolve(null), ANSWER_MS),
      )
    })
  } finally {
    for (const timer of timers) clearTimeout(timer)
    socket.close()
  }
}
