import type { Move, NodeAddress, RtmpPorts } from '../../core/nodes/drain.ts'
import { targetPort } from '../../core/restream/targets.ts'
import type { AmfObject } from './amf0.ts'

/** In `capsEx` of enhanced RTMP: it follows `NetConnection.Connect.ReconnectRequest`. */
export const RECONNECTS = 0x01

/** The code of the status that asks a client to connect again. */
export const RECONNECT_REQUEST = 'NetConnection.Connect.ReconnectRequest'

/** The `tcUrl` of a client that follows requests to connect again; empty: it names none. Null: it does not follow them. */
export function reconnectingUrl(connect: AmfObject): string | null {
  const [caps, url] = [connect.get('capsEx'), connect.get('tcUrl')]
  if (typeof caps !== 'number' || (caps & RECONNECTS) === 0) return null
  return typeof url === 'string' ? url : ''
}

/**
 * The `tcUrl` of the first of the other nodes that takes a client as it has come: by the name of this one. Null: it has not, as
 * behind a balancer, or there is no such node. It connects to the same address again then.
 */
export function remoteUrl(tcUrl: string, { from, to }: Move): string | null {
  const client = URL.parse(tcUrl)
  if (client === null || from === null || client.hostname !== URL.parse(from.url)?.hostname) return null
  for (const node of to) {
    const url = urlAt(client, from, node)
    if (url !== null) return url.href
  }
  return null
}

/** Null: that node takes no such client, or has the same address as this one. */
function urlAt(client: URL, from: NodeAddress, to: NodeAddress): URL | null {
  const [hostname, port] = [URL.parse(to.url)?.hostname, portAt(client, from, to)]
  if (hostname === undefined || port === 0) return null
  const url = new URL(client)
  url.hostname = hostname
  if (port !== targetPort(client)) url.port = String(port)
  return url.href === client.href ? null : url
}

/**
 * The port for a client of another node. One that has come by another port than that of this node has it from a port mapping,
 * which is the same in front of the other node.
 */
function portAt(client: URL, from: RtmpPorts, to: RtmpPorts): number {
  const name = client.protocol === 'rtmps:' ? 'rtmpsPort' : 'rtmpPort'
  const came = targetPort(client)
  if (to[name] === 0) return 0
  return from[name] === came ? (to[name] ?? came) : came
}
