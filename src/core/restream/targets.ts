import { err, ok, type Result } from '../../base/result.ts'
import { refuseAuthority } from '../channels/source.ts'
import { readSrtParameters, withSrtSecrets } from '../srtAddress.ts'
import { hasOddCharacters, hostOf, URL_MAX } from '../webhooks/target.ts'

/** Bounds of `restream`. A value outside gets a 400 that names the bound. */
export const RESTREAM_LIMITS = { targetsMax: 10, urlMax: URL_MAX, keyMin: 5, keyMax: 512, labelMax: 2048 } as const

const SRT = 'srt:'
/** The protocols that media can be sent on with: their names in a URL, and their usual ports, of which SRT has none. */
const PORTS: Readonly<Record<string, number>> = { 'rtmp:': 1935, 'rtmps:': 443, [SRT]: 0, 'whip:': 80, 'whips:': 443 }
const NOT_BUILT = new Set(['rtsp:', 'rtsps:'])
/** Ports of services below 1024 that take media. To the others, such as mail, no server is made to speak. */
const LOW_PORTS = new Set([80, 322, 443, 554])

export type Transport = 'tcp' | 'udp'

/** True of the URL of a target that gets SRT. */
export const isSrt = (url: string): boolean => url.slice(0, SRT.length).toLowerCase() === SRT
/** True of the URL of a target that gets WebRTC. */
export const isWhip = (url: string): boolean => /^whips?:/i.test(url)

/** What carries the protocol of a target. */
const transportOf = ({ protocol }: URL): Transport => (protocol === SRT ? 'udp' : 'tcp')
/** True of a port that no media comes from or goes to. */
export const isOddPort = (port: number): boolean => port < 1024 && !LOW_PORTS.has(port)

/** What of an installation decides on its targets. */
export interface TargetPolicy {
  /** Some private networks are allowed. Which ones, each dial checks. */
  readonly allowPrivate: boolean
  /** Whether a publisher that dials this would reach this installation. `host` is in lower case. */
  readonly isOurs: (host: string, port: number, transport: Transport) => boolean
}

/** Where to dial for the URL of a target that was checked. */
export const targetPort = ({ port, protocol }: URL): number => (port === '' ? (PORTS[protocol] ?? 0) : Number(port))

/** Whether a text is the URL of a target. The refusal is a predicate after the name of the field. */
export function readTargetUrl(text: string): Result<URL, string> {
  if (text.length > URL_MAX) return err(`must be at most ${URL_MAX} characters long`)
  if (hasOddCharacters(text)) return err('must not contain spaces, control characters or backslashes')
  const url = URL.parse(text)
  if (url === null) return err(NO_URL)
  const refusal =
    refuseScheme(url) ?? refuseParts(url) ?? (isMasked(text) ? null : refusePath(url, text)) ?? refusePort(url)
  return refusal === null ? ok(url) : err(refusal)
}

const NO_URL = 'must begin with rtmp://, rtmps://, srt://, whip:// or whips://'

function refuseScheme({ protocol }: URL): string | null {
  if (protocol in PORTS) return null
  if (NOT_BUILT.has(protocol)) return `${NO_URL}; ${protocol}// is not built`
  return NO_URL
}

const NO_PATH: Readonly<Record<string, string>> = {
  rtmp: 'must name an application: rtmp://host/app',
  whip: 'must name an endpoint: whips://host/path',
}

function refuseParts(url: URL): string | null {
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or a password'
  if (url.hash !== '') return 'must not contain a fragment (#)'
  return null
}

function refusePath(url: URL, text: string): string | null {
  if (url.protocol !== SRT) return /[^/]/.test(url.pathname) ? null : (NO_PATH[url.protocol.slice(0, 4)] ?? null)
  if (text.includes(`=${MASK}`)) return 'has the end of a secret; send each of its secrets whole'
  const read = readSrtParameters(url)
  return read.ok ? null : read.error
}

function refusePort(url: URL): string | null {
  const port = targetPort(url)
  return isOddPort(port) ? `must not use port ${port}` : null
}

/**
 * Why media may not be sent on to this host, as a predicate after the name of the field; null: it may. This checks the
 * text only: each dial checks the addresses that a name resolves to.
 */
export function refuseTargetHost(url: URL, { allowPrivate, isOurs }: TargetPolicy): string | null {
  const refusal = refuseAuthority(url, allowPrivate)
  if (refusal !== null) return refusal
  const isLoop = isOurs(hostOf(url).toLowerCase(), targetPort(url), transportOf(url))
  return isLoop ? 'must not lead to this server: its media would go in a circle' : null
}

/** Why a key is refused, as a predicate after the name of the field; null: it is not. The text never shows the key. */
export function refuseKey(key: string): string | null {
  const { keyMin, keyMax } = RESTREAM_LIMITS
  if (key.length < keyMin || key.length > keyMax) return `must have ${keyMin} to ${keyMax} characters`
  return hasOddCharacters(key) ? 'must not contain spaces, control characters or backslashes' : null
}

/** Why a target of SRT may have no key of its own. */
export const SRT_HAS_NO_KEY = 'must be empty: the stream id and the passphrase of SRT are parameters of its url'

const MASK = '••••'

/** A secret as records show it: its end, of at most four characters and never more than a quarter of it. */
export const maskedKey = (key: string): string => MASK + key.slice(key.length - Math.min(4, Math.floor(key.length / 4)))

/** The URL of a target as records show it. That of SRT has its secrets in it. */
export const maskedUrl = (url: string): string =>
  isSrt(url) ? withSrtSecrets(url, (secret) => (secret.startsWith(MASK) ? secret : maskedKey(secret))) : url

/**
 * True of a key, or a URL of SRT in the place of a key, that a record has shown. In an update it means: keep the key of this
 * target.
 */
export const isMasked = (key: string): boolean =>
  isSrt(key) ? key === maskedUrl(key) && key.includes(`=${MASK}`) : key.startsWith(MASK)

/** What a record shows of a key beside the URL. */
export const shownKeyOf = (key: string): string => (isSrt(key) ? '' : isMasked(key) ? key : maskedKey(key))
