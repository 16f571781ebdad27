import type { Move } from '../../core/nodes/drain.ts'
import type { AmfObject } from './amf0.ts'

/** In `capsEx` of enhanced RTMP: it follows `NetConnection.Connect.ReconnectRequest`. */
export const RECONNECTS = 0x01

/** The `tcUrl` of a client that follows requests to connect again; empty: it names none. Null: it does not follow them. */
export function reconnectingUrl(connect: AmfObject): string | null {
  const [caps, url] = [connect.get('capsEx'), connect.get('tcUrl')]
  if (typeof caps !== 'number' || (caps & RECONNECTS) === 0) return null
  return typeof url === 'string' ? url : ''
}

/**
 * The `tcUrl` of the other node, for a client that has come by the name of this one. Null: it has not, as behind a balancer, or
 * no other node is known. It connects to the same address again then.
 */
export function remoteUrl(tcUrl: string, { from, to }: Move): string | null {
  const [client, own, other] = [tcUrl, from, to].map((url) => (url === null ? null : URL.parse(url)))
  if (!client || !own || !other || client.hostname !== own.hostname || own.hostname === other.hostname) return null
  client.hostname = other.hostname
  return client.href
}
