/** Where the base address comes from. */
export type BaseSource = 'publicUrl' | 'nodeUrl' | 'request'

export interface BaseAddress {
  /** `https://live.example.com`, without a slash at its end. */
  readonly url: string
  readonly source: BaseSource
}

/** Addresses for publishers and viewers; `{streamName}` stands for the name of a stream. */
export interface PublicAddresses {
  readonly base: string
  readonly baseSource: BaseSource
  readonly whip: string
  readonly whep: string
  readonly hls: string
  readonly watch: string
  readonly player: string
  readonly dashboard: string
  /** The origin of the dashboard's pages, which a token's allowed origins may have to name. */
  readonly origin: string
  /** Absent: RTMP is switched off. The token goes into its query. */
  readonly rtmp?: string
  /** Absent: there is no RTMPS. */
  readonly rtmps?: string
  /** Absent: SRT is switched off. The name of the stream and the token go into its stream id. */
  readonly srt?: string
}

interface BaseFacts {
  /** `server.publicUrl` and `server.nodeUrl`; empty: not configured. */
  readonly publicUrl: string
  readonly nodeUrl: string
  /** `https` if the client's connection is said to be encrypted. */
  readonly scheme: 'http' | 'https'
  /** The host that the client addressed, with its port. */
  readonly host: string
}

/** What is configured, and what the request tells. */
export interface AddressFacts extends BaseFacts {
  readonly accountId: string
  /** Null: RTMP is switched off. `url`: the configured address of channels; empty: not configured. */
  readonly rtmp: RtmpFacts | null
  /** Null: SRT is switched off. */
  readonly srt: { readonly port: number } | null
}

interface RtmpFacts {
  readonly port: number
  /** 0: no RTMPS. */
  readonly tlsPort: number
  readonly url: string
}

/** A host name or an address, with or without a port. A request may name one that no URL can have, such as `a:99999` or `1.2.3.4.5`. */
const HOST = /^(\[[0-9a-f:.]+\]|[\w.-]{1,253})(:\d{1,5})?$/i
const isHost = (host: string): boolean => HOST.test(host) && URL.canParse(`http://${host}`)

export function publicAddresses(facts: AddressFacts): PublicAddresses {
  const { accountId } = facts
  const { url: base, source } = baseOf(facts)
  const { hostname } = new URL(base)
  const name = '{streamName}'
  return {
    base,
    baseSource: source,
    whip: `${base}/api/whip/${name}`,
    whep: `${base}/api/whep/${accountId}/${name}`,
    hls: `${base}/hls/${accountId}/${name}/index.m3u8`,
    watch: `${base}/watch/${accountId}/${name}`,
    player: `${base}/player.js`,
    dashboard: `${base}/dashboard/`,
    origin: new URL(base).origin,
    ...(facts.rtmp === null ? {} : { rtmp: `${rtmpBase(hostname, facts.rtmp)}/v2/pub/${name}` }),
    ...(facts.rtmp?.tlsPort ? { rtmps: `${rtmpsBase(hostname, facts.rtmp.tlsPort)}/v2/pub/${name}` } : {}),
    ...(facts.srt === null ? {} : { srt: `srt://${hostname}:${facts.srt.port}` }),
  }
}

function baseOf({ publicUrl, nodeUrl, scheme, host }: BaseFacts): BaseAddress {
  if (publicUrl !== '') return { url: publicUrl.replace(/(?<!\/)\/+$/, ''), source: 'publicUrl' }
  if (nodeUrl !== '') return { url: nodeUrl.replace(/(?<!\/)\/+$/, ''), source: 'nodeUrl' }
  return { url: `${scheme}://${isHost(host) ? host : 'localhost'}`, source: 'request' }
}

/** The URL of this node, for what no other node has; else that of all nodes. */
export const nodeBase = ({ nodeUrl, publicUrl, ...request }: BaseFacts): string =>
  baseOf({ nodeUrl, publicUrl: nodeUrl === '' ? publicUrl : '', ...request }).url

/**
 * What precedes the path in the `Location` of WHIP and WHEP: the URL of this node, or the path prefix of a proxy. Clients
 * take the rest from the address that they called.
 */
export function resourceBase({ publicUrl, nodeUrl }: Pick<AddressFacts, 'publicUrl' | 'nodeUrl'>): string {
  if (nodeUrl !== '') return nodeUrl.replace(/(?<!\/)\/+$/, '')
  return publicUrl === '' ? '' : new URL(publicUrl).pathname.replace(/(?<!\/)\/+$/, '')
}

/** Channels and streams share one port. */
function rtmpBase(hostname: string, { port, url }: RtmpFacts): string {
  const configured = url === '' ? null : new URL(url)
  if (configured !== null) return `${configured.protocol}//${configured.host}`
  return `rtmp://${hostname}${port === 1935 ? '' : `:${port}`}`
}

const rtmpsBase = (hostname: string, port: number): string => `rtmps://${hostname}${port === 443 ? '' : `:${port}`}`
