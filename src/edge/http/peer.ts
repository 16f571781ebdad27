import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { parseAddress, type Address } from '../../core/access/address.ts'

/** Finds the client's address. It looks through the proxies that the operator trusts, and through no others. */
export type PeerOf = (socketAddress: string | undefined, headers: Readonly<NodeJS.Dict<string | string[]>>) => Address

/** Whether Sluice itself encrypts this connection. */
export const isEncrypted = (socket: Socket): boolean => socket instanceof TLSSocket

const PREFIX = /^(?:\/[\w.~-]+){1,8}\/?$/

/** The path prefix that a trusted proxy has removed (`X-Forwarded-Prefix`), without a slash at its end; else ''. */
export function forwardedPrefix(
  isTrusted: (address: Address) => boolean,
  { headers, socket }: { headers: Readonly<NodeJS.Dict<string | string[]>>; socket: Pick<Socket, 'remoteAddress'> },
): string {
  const prefix = headers['x-forwarded-prefix']
  const peer = parseAddress(socket.remoteAddress ?? '')
  if (peer === null || !isTrusted(peer) || typeof prefix !== 'string') return ''
  return prefix.length <= 255 && PREFIX.test(prefix) ? prefix.replace(/\/$/, '') : ''
}

/** What a proxy or a browser adds, and no program that asks for itself. */
const PASSED_ON = ['x-forwarded-for', 'x-forwarded-host', 'forwarded', 'via', 'x-real-ip', 'origin'] as const

/** Whether a proxy or a page says that the request is not its own. */
export const isPassedOn = (headers: Readonly<NodeJS.Dict<string | string[]>>): boolean =>
  PASSED_ON.some((name) => headers[name] !== undefined)

const UNKNOWN: Address = { family: 6, text: '::' }

/** Parsed addresses in the cache: active clients send one request after another. */
const CACHED_MAX = 10_000

/**
 * The socket's address, unless the socket belongs to a trusted proxy: then the right-most entry of `X-Forwarded-For`
 * that is not a trusted proxy itself. An entry that is not an address ends the search, because a client could forge
 * everything left of it.
 * @param isTrusted whether this is the address of a trusted proxy
 */
export function peerResolver(isTrusted: (address: Address) => boolean): PeerOf {
  const cached = new Map<string, Address>()
  const addressOf = (text: string): Address => {
    const seen = cached.get(text)
    if (seen !== undefined) return seen
    const address = parseAddress(text) ?? UNKNOWN
    if (cached.size >= CACHED_MAX) cached.clear()
    cached.set(text, address)
    return address
  }

  return (socketAddress, headers) => {
    let peer = addressOf(socketAddress ?? '')
    if (!isTrusted(peer)) return peer
    const forwarded = headers['x-forwarded-for']
    const entries = (Array.isArray(forwarded) ? forwarded.join(',') : (forwarded ?? '')).split(',').reverse()
    for (const entry of entries) {
      const address = parseAddress(withoutPort(entry.trim()))
      if (!address) return peer
      peer = address
      if (!isTrusted(address)) return peer
    }
    return peer
  }
}

/** Some proxies write `1.2.3.4:5678` or `[2001:db8::1]:5678`. */
function withoutPort(text: string): string {
  const bracketed = /^\[([^\]]+)\](:\d+)?$/.exec(text)
  if (bracketed?.[1] !== undefined) return bracketed[1]
  return /^\d+\.\d+\.\d+\.\d+:\d+$/.test(text) ? text.slice(0, text.lastIndexOf(':')) : text
}
