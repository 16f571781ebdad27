import { isIP } from 'node:net'
import { isPostgresUrl, postgresHosts } from '../base/postgresUrl.ts'
import { SECRET, type TextRule } from './keys.ts'

/** An IPv4 or IPv6 address, or a network of them such as `10.0.0.0/8`. */
export const addressOrNetwork: TextRule = (value) => {
  const [address = '', prefix, ...rest] = value.split('/')
  const family = isIP(address)
  // A zone such as fe80::1%eth0 passes isIP, but it is valid on one machine only and cannot be compared with a
  // peer.
  if (family === 0 || address.includes('%') || rest.length > 0) return 'is not an address or a network'
  if (prefix === undefined) return undefined
  const longest = family === 4 ? 32 : 128
  return /^\d{1,3}$/.test(prefix) && Number(prefix) <= longest
    ? undefined
    : `has a prefix that is not from 0 to ${longest}`
}

/** An address that clients can use: without a zone, which is valid on one machine only. */
const address: TextRule = (value) => (isIP(value) === 0 || value.includes('%') ? 'is not an address' : undefined)

export const addressOrNothing: TextRule = (value) => (value === '' ? undefined : address(value))

/** An address that clients can use, or a host name that has one. A name has a letter in its last label, unlike an address. */
export const addressOrName: TextRule = (value) => {
  const isName = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i.test(value) && /[a-z][^.a-z]*$/i.test(value)
  return isName || address(value) === undefined ? undefined : 'is not an address or a host name'
}

/** A host name or address to listen on. The port is a key of its own. */
export const hostToListenOn: TextRule = (value) => {
  if (isIP(value) !== 0) return undefined
  return /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i.test(value) ? undefined : 'is not an address or a host name'
}

/** Whichever host takes writes is used, so other wishes than that cannot be met. */
const SERVERS = [null, 'any', 'read-write', 'primary']

function postgresUrlProblem(value: string): string | undefined {
  const urls = postgresHosts(value).map((url) => URL.parse(url))
  if (urls.some((url) => url === null || (urls.length > 1 && url.hostname === ''))) return 'is not a URL'
  const wish = urls[0]?.searchParams.get('target_session_attrs') ?? null
  return SERVERS.includes(wish) ? undefined : 'has a target_session_attrs other than read-write'
}

/** The location of the database: empty, a file path, or a PostgreSQL URL. */
export const storageUrlRule: TextRule = (value) => {
  if (isPostgresUrl(value)) return postgresUrlProblem(value)
  return /^[a-z][a-z0-9+.-]*:/i.test(value) ? 'has a scheme that is neither postgres:// nor postgresql://' : undefined
}

/** Empty, or the base URL for clients: `https://host`, optionally with a port and a path. */
export const httpUrl: TextRule = (value) => {
  if (value === '') return undefined
  const url = URL.parse(value)
  if (url === null || !/^https?:$/.test(url.protocol)) return 'is not a URL of http or https'
  return url.search + url.hash + url.username === '' ? undefined : 'has more than a host, a port and a path'
}

/** A URL that nothing can listen in on or change. */
export const httpsUrl: TextRule = (value) => {
  const url = URL.parse(value)
  if (url?.protocol !== 'https:') return 'is not a URL of https'
  return url.username === '' && url.hash === '' ? undefined : 'has a user name or a fragment'
}

/** A name that a certificate authority can check over HTTP: no wildcard, no address. */
export const domainName: TextRule = (value) =>
  isIP(value) === 0 &&
  value.length <= 253 &&
  /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/i.test(value)
    ? undefined
    : 'is not a domain name'

export const emailOrNothing: TextRule = (value) =>
  value === '' || /^[^\s@<>,;:"]{1,64}@[^\s@<>,;:"]{1,253}$/.test(value) ? undefined : 'is not an e-mail address'

export const notEmpty: TextRule = (value) => (value.trim() === '' ? 'is empty' : undefined)

/** Empty, or the canonical base64 of exactly 32 bytes. */
export const base64Of32Bytes: TextRule = (value) => {
  const bytes = Buffer.from(value, 'base64')
  const canonical = bytes.toString('base64') === value
  return value === '' || (canonical && bytes.length === 32) ? undefined : 'is not the base64 of 32 bytes'
}

/** `stun:host:port`, or `turn:host:port?transport=udp user credential` (RFC 7064, RFC 7065). */
export const iceServer: TextRule = (value) => {
  if (/^stuns?:[^\s<>"?]+$/.test(value)) return undefined
  const isTurn = /^turns?:[^\s<>"]+ [^\s"\\]+ [^\s"\\]+$/.test(value)
  return isTurn ? undefined : 'is neither stun:HOST:PORT nor turn:HOST:PORT with a user name and a credential'
}

/** An ICE server without what follows its address: a user name and a credential. */
export const withoutCredential = (server: string): string => server.replace(/\s.*/, ` ${SECRET}`)

const MIN_SECRET = 16

/** Empty, or visible ASCII (for a header) that is long enough not to be guessed. */
export const headerSecret: TextRule = (value) => {
  if (value === '') return undefined
  if (!/^[\x21-\x7e]*$/.test(value)) return 'contains a character that cannot be sent in a header'
  return value.length < MIN_SECRET ? `is shorter than ${MIN_SECRET} characters` : undefined
}

/** The start of header names (a token of RFC 9110 section 5.6.2), ending where a word can follow. */
export const headerPrefix: TextRule = (value) => {
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*-$/i.test(value)) return 'is not words of letters and digits that each end with -'
  if (value.length > 40) return 'is longer than 40 characters'
  return /^webhook-$/i.test(value) ? 'is what the headers of Standard Webhooks begin with' : undefined
}

export const regionName: TextRule = (value) =>
  /^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/i.test(value) ? undefined : 'is not a name of letters, digits and -'

/** Empty: none. `auto` and `all` mean every region where one is named. */
export const nodeRegion: TextRule = (value) =>
  value === '' ? undefined : ['auto', 'all'].includes(value.toLowerCase()) ? 'means every region' : regionName(value)

/** Empty, the path of a device, or a number. Anything else could add options where ffmpeg expects a device. */
export const deviceOrNothing: TextRule = (value) =>
  /^(\/dev\/[\w.:/-]+|\d{1,2})?$/.test(value) ? undefined : 'is neither a path below /dev/ nor a number'

/** Empty: not set. */
export const rtmpAddress: TextRule = (value) =>
  value === '' || (/^rtmps?:\/\/[^\s/?#]+\/[^\s?#]+$/.test(value) && URL.canParse(value))
    ? undefined
    : 'is not rtmp://host:port/app'

export const claimName: TextRule = (value) =>
  /^[A-Za-z][\w.:/-]{0,63}$/.test(value) ? undefined : 'is not a name of letters, digits and . : / _ -'
