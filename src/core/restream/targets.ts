import { err, ok, type Result } from '../../base/result.ts'
import { readSrtParameters, withSrtSecrets } from '../srtAddress.ts'
import {
  type AllowedNetworks,
  hasOddCharacters,
  hostOf,
  ODD_CHARACTERS,
  refuseAuthority,
  refuseLogin,
  refuseText,
  URL_MAX,
} from '../validation/outboundUrl.ts'

/** Bounds of `restream`. A value outside gets a 400 that names the bound. */
export const RESTREAM_LIMITS = { targetsMax: 10, urlMax: URL_MAX, keyMin: 5, keyMax: 512, labelMax: 2048 } as const

/** A protocol that media can be sent on with. */
interface TargetScheme {
  /** Its usual port; 0: its addresses have one. */
  readonly port: number
  readonly transport: Transport
  /** Why a URL cannot be one of this protocol, as a predicate after the name of the field; null: it can. */
  readonly refuse: (url: URL) => string | null
  /** Of a protocol whose secrets are in the URL, which has no key then. */
  readonly secrets?: UrlSecrets
}

interface UrlSecrets {
  /** The URL with each secret as `show` makes it. */
  readonly with: (url: string, show: (secret: string) => string) => string
  /** The URL with secrets that came apart from it. */
  readonly add: (url: string, secret: string) => string
}

const RTMP: TargetScheme = { port: 1935, transport: 'tcp', refuse: refuseRtmp }
const RTSP: TargetScheme = {
  port: 554,
  transport: 'tcp',
  refuse: refuseRtsp,
  secrets: { with: withRtspSecrets, add: addPassword },
}
const SRT: TargetScheme = {
  port: 0,
  transport: 'udp',
  refuse: refuseSrt,
  secrets: { with: withSrtSecrets, add: (url, secret) => `${url}${url.includes('?') ? '&' : '?'}${secret}` },
}
const WHIP: TargetScheme = { port: 80, transport: 'tcp', refuse: refuseWhip }
const SCHEMES: Readonly<Record<string, TargetScheme>> = {
  'rtmp:': RTMP,
  'rtmps:': { ...RTMP, port: 443 },
  'srt:': SRT,
  'whip:': WHIP,
  'whips:': { ...WHIP, port: 443 },
  'rtsp:': RTSP,
  'rtsps:': { ...RTSP, port: 322 },
}
/** Ports of services below 1024 that take media. To the others, such as mail, no server is made to speak. */
const LOW_PORTS = new Set([80, 322, 443, 554])

export type Transport = 'tcp' | 'udp'

const schemeOf = (protocol: string): TargetScheme | undefined =>
  Object.hasOwn(SCHEMES, protocol) ? SCHEMES[protocol] : undefined

const secretsOf = (text: string): UrlSecrets | undefined =>
  schemeOf(/^[a-z]+:/i.exec(text)?.[0].toLowerCase() ?? '')?.secrets

/** True of the URL of a target that has its secrets in it. It is sealed like a key, and the target has no other. */
export const hasSecretUrl = (text: string): boolean => secretsOf(text) !== undefined

/** The URL of a target with secrets that came apart from it. */
export const withSecret = (url: string, secret: string): string => secretsOf(url)?.add(url, secret) ?? url

/** True of a port that no media comes from or goes to. */
export const isOddPort = (port: number): boolean => port < 1024 && !LOW_PORTS.has(port)

/** What of an installation decides on its targets. */
export interface TargetPolicy extends AllowedNetworks {
  /** Whether a publisher that dials this would reach this installation. `host` is in lower case. */
  readonly isOurs: (host: string, port: number, transport: Transport) => boolean
}

/** Where to dial for the URL of a target that was checked. */
export const targetPort = ({ port, protocol }: URL): number =>
  port === '' ? (schemeOf(protocol)?.port ?? 0) : Number(port)

/**
 * Where to dial a target that asked Sluice to go on elsewhere: at its own address, if the other one is not fit for a target. Its key goes
 * there too, so what had TLS keeps it.
 * @param to absolute, or relative to its own
 */
export function movedUrl(own: string, to: string): string {
  const url = URL.parse(to, own)
  if (url === null || (url.protocol !== new URL(own).protocol && url.protocol !== 'rtmps:')) return own
  return readTargetUrl(url.href).ok ? url.href : own
}

/** Whether a text is the URL of a target. The refusal is a predicate after the name of the field. */
export function readTargetUrl(text: string): Result<URL, string> {
  const unreadable = refuseText(text)
  if (unreadable !== null) return err(unreadable)
  const url = URL.parse(text)
  if (url === null) return err(NO_URL)
  const refusal = refuseScheme(url) ?? refuseParts(url, text) ?? refusePort(url)
  return refusal === null ? ok(url) : err(refusal)
}

const NO_URL = `must begin with ${Object.keys(SCHEMES)
  .map((scheme) => `${scheme}//`)
  .join(', ')}`

function refuseScheme({ protocol }: URL): string | null {
  return schemeOf(protocol) === undefined ? NO_URL : null
}

function refuseParts(url: URL, text: string): string | null {
  if (url.hash !== '') return 'must not contain a fragment (#)'
  if (isMasked(text)) return null
  if (hasSecretUrl(text) && text.includes(MASK)) return 'has the end of a secret; send each of its secrets whole'
  return schemeOf(url.protocol)?.refuse(url) ?? null
}

function refuseRtmp(url: URL): string | null {
  return refuseLogin(url) ?? (/[^/]/.test(url.pathname) ? null : 'must name an application: rtmp://host/app')
}

function refuseWhip(url: URL): string | null {
  return refuseLogin(url) ?? (/[^/]/.test(url.pathname) ? null : 'must name an endpoint: whips://host/path')
}

function refuseSrt(url: URL): string | null {
  const read = readSrtParameters(url)
  return refuseLogin(url) ?? (read.ok ? null : read.error)
}

function refuseRtsp({ username, password, pathname }: URL): string | null {
  if (username === '' && password !== '') return 'must name the user of its password'
  return /[^/]/.test(pathname) ? null : 'must have a path: rtsp://host/path'
}

function refusePort(url: URL): string | null {
  const port = targetPort(url)
  return isOddPort(port) ? `must not use port ${port}` : null
}

/** Its password, and its query, which often has a token. The host begins after the last at sign, as in `URL`. */
function withRtspSecrets(text: string, show: (secret: string) => string): string {
  const [, scheme = '', login, rest = '', query] = /^([a-z]+:\/\/)(?:([^/?]*)@)?([^?]*)(?:\?(.*))?$/is.exec(text) ?? []
  const [user = '', ...password] = login?.split(':') ?? []
  const secret = password.join(':')
  const shownLogin = login === undefined ? '' : `${user}${secret === '' ? '' : `:${show(secret)}`}@`
  return `${scheme}${shownLogin}${rest}${query === undefined || query === '' ? '' : `?${show(query)}`}`
}

/** An address without a user stays as it is: a password belongs to one. */
function addPassword(url: string, password: string): string {
  return url.replace(/^([a-z]+:\/\/[^/?:]+)@/i, (_, before: string) => `${before}:${encodeURIComponent(password)}@`)
}

/**
 * Why media may not be sent on to this host, as a predicate after the name of the field; null: it may. This checks the
 * text only: each dial checks the addresses that a name resolves to.
 */
export function refuseTargetHost(url: URL, policy: TargetPolicy): string | null {
  const refusal = refuseAuthority(url, policy)
  if (refusal !== null) return refusal
  const isLoop = policy.isOurs(hostOf(url).toLowerCase(), targetPort(url), schemeOf(url.protocol)?.transport ?? 'tcp')
  return isLoop ? 'must not lead to this server: its media would go in a circle' : null
}

/** Why a key is refused, as a predicate after the name of the field; null: it is not. The text never shows the key. */
export function refuseKey(key: string): string | null {
  const { keyMin, keyMax } = RESTREAM_LIMITS
  if (key.length < keyMin || key.length > keyMax) return `must have ${keyMin} to ${keyMax} characters`
  return hasOddCharacters(key) ? ODD_CHARACTERS : null
}

/** Why a target whose URL has its secrets may have no key of its own. */
export const HAS_NO_KEY = 'must be empty: the secrets of SRT and RTSP are in the url'

/** Stands for a secret, or for the part of it that records do not show. */
export const MASK = '••••'

/** A secret as records show it: its end, of at most four characters and never more than a quarter of it. */
export const maskedKey = (key: string): string => MASK + key.slice(key.length - Math.min(4, Math.floor(key.length / 4)))

/** The URL of a target as records show it. */
export const maskedUrl = (url: string): string =>
  secretsOf(url)?.with(url, (secret) => (secret.startsWith(MASK) ? secret : maskedKey(secret))) ?? url

/**
 * True of a key, or a URL with secrets in the place of a key, that a record has shown. In an update it means: keep the key of
 * this target.
 */
export const isMasked = (key: string): boolean =>
  hasSecretUrl(key) ? key === maskedUrl(key) && key.includes(MASK) : key.startsWith(MASK)

/** What a record shows of a key beside the URL. */
export const shownKeyOf = (key: string): string => (hasSecretUrl(key) ? '' : isMasked(key) ? key : maskedKey(key))
