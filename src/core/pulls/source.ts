import { err, ok, type Result } from '../../base/result.ts'
import { readSrtParameters } from '../srtAddress.ts'
import { isOddPort, MASK, type TargetPolicy } from '../restream/targets.ts'
import { hostOf, refuseAuthority, refuseLogin, refuseText } from '../validation/outboundUrl.ts'

interface PullScheme {
  /** Its usual port. */
  readonly port: number
  readonly isEncrypted: boolean
  /** What is dialled. */
  readonly carrier: 'tcp' | 'udp'
  readonly way: 'rtsp' | 'rtmp' | 'srt' | 'whep'
  /** The last part of the path is a key, which no record shows. */
  readonly hasKeyInPath: boolean
  /** Why a URL cannot be one of this protocol; null: it can. */
  readonly refuse: (url: URL) => string | null
}

/** The protocols that media can be pulled with, by their names in a URL. */
const SCHEMES: Readonly<Record<string, PullScheme>> = {
  'rtsp:': { port: 554, isEncrypted: false, carrier: 'tcp', way: 'rtsp', hasKeyInPath: false, refuse: () => null },
  'rtsps:': { port: 322, isEncrypted: true, carrier: 'tcp', way: 'rtsp', hasKeyInPath: false, refuse: () => null },
  'rtmp:': { port: 1935, isEncrypted: false, carrier: 'tcp', way: 'rtmp', hasKeyInPath: true, refuse: refuseRtmp },
  'rtmps:': { port: 443, isEncrypted: true, carrier: 'tcp', way: 'rtmp', hasKeyInPath: true, refuse: refuseRtmp },
  // Its addresses have a port.
  'srt:': { port: 0, isEncrypted: false, carrier: 'udp', way: 'srt', hasKeyInPath: false, refuse: refuseSrt },
  'whep:': { port: 80, isEncrypted: false, carrier: 'tcp', way: 'whep', hasKeyInPath: false, refuse: refuseWhep },
  'wheps:': { port: 443, isEncrypted: true, carrier: 'tcp', way: 'whep', hasKeyInPath: false, refuse: refuseWhep },
}
/** As other programs write the addresses of WHEP. */
const MEANT: Readonly<Record<string, string>> = { 'http:': 'whep', 'https:': 'wheps' }

/** How to dial for the URL of a source that was checked. */
export function pullScheme({ port, protocol }: URL): PullScheme {
  const scheme = SCHEMES[protocol]
  if (scheme === undefined) throw new Error('the URL of a source was not checked')
  return port === '' ? scheme : { ...scheme, port: Number(port) }
}

/** Whether a text is the URL of a source to pull. The refusal is a predicate after the name of the field. */
export function readPullUrl(text: string, policy: TargetPolicy): Result<URL, string> {
  const unreadable = refuseText(text)
  if (unreadable !== null) return err(unreadable)
  const url = URL.parse(text)
  if (url === null) return err(NO_URL)
  const refusal = refuseScheme(url) ?? refuseParts(url) ?? refuseHost(url, policy)
  return refusal === null ? ok(url) : err(refusal)
}

const NO_URL = 'must begin with rtsp://, rtsps://, rtmp://, rtmps://, srt://, whep:// or wheps://'

function refuseScheme({ protocol }: URL): string | null {
  if (Object.hasOwn(SCHEMES, protocol)) return null
  const meant = MEANT[protocol]
  return meant === undefined
    ? NO_URL
    : `must begin with ${meant}:// in place of ${protocol}// if it is a source of WHEP`
}

function refuseParts(url: URL): string | null {
  if (url.hash !== '') return 'must not contain a fragment (#)'
  const { port, refuse } = pullScheme(url)
  // SRT says that a port is missing.
  return refuse(url) ?? (isOddPort(port) ? `must not use port ${port}` : null)
}

function refuseSrt(url: URL): string | null {
  const parameters = readSrtParameters(url)
  return refuseLogin(url) ?? (parameters.ok ? null : parameters.error)
}

function refuseRtmp(url: URL): string | null {
  const named = url.pathname.split('/').filter((part) => part !== '')
  const isWhole = named.length > 1 && !url.pathname.endsWith('/')
  return refuseLogin(url) ?? (isWhole ? null : 'must name an application and a stream: rtmp://host/app/stream')
}

function refuseWhep({ username, password, pathname }: URL): string | null {
  if (username !== '' && password === '') return 'must have a token behind a colon: wheps://:TOKEN@host/path'
  return /[^/]/.test(pathname) ? null : 'must name an endpoint: wheps://host/path'
}

/** This checks the text only: each dial checks the addresses that a name resolves to. */
function refuseHost(url: URL, policy: TargetPolicy): string | null {
  const { port, carrier } = pullScheme(url)
  const isLoop = policy.isOurs(hostOf(url).toLowerCase(), port, carrier)
  return refuseAuthority(url, policy) ?? (isLoop ? 'must not lead to this server' : null)
}

/** Some cameras take their password in the path. */
const IN_PATH = /((?:password|passwd|pass|pwd|token|key)=)[^/&]*/gi

/** The URL of a source as records show it: without its password, its query, a password in its path, and a stream of RTMP. */
export function shownPullUrl(url: URL): string {
  const { protocol, username, password, host, pathname, search } = url
  const login = `${username}${password === '' ? '' : `:${MASK}`}`
  const user = login === '' ? '' : `${login}@`
  const path = pullScheme(url).hasKeyInPath
    ? pathname.replace(/(?<![^/])[^/]+$/, MASK)
    : pathname.replaceAll(IN_PATH, `$1${MASK}`)
  return `${protocol}//${user}${host}${path}${search === '' ? '' : `?${MASK}`}`
}

/** The same for a reader who sees no secrets. */
export const hostOfPull = (shown: string): string => shown.replace(/^([a-z]+:\/\/)(?:[^/?@]*@)?([^/?]*).*$/, '$1$2/')

/** The URL with its password masked, which no reader sees; the rest is shown to those who may read secrets. */
export function withoutPassword(text: string): string {
  const { username, password } = new URL(text)
  if (password === '') return text
  return text.replace(/^([a-z]+:\/\/)[^/?]*@/i, (_, scheme: string) => `${scheme}${username}:${MASK}@`)
}

/** True of a URL that a record has shown. In an update it means: keep the URL. */
export const isShownPullUrl = (text: string): boolean => text.includes(MASK)
