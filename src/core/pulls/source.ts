import { err, ok, type Result } from '../../base/result.ts'
import { refuseAuthority } from '../channels/source.ts'
import { isOddPort, type TargetPolicy } from '../restream/targets.ts'
import { hasOddCharacters, hostOf, URL_MAX } from '../webhooks/target.ts'

/** The protocols that media can be pulled with: their names in a URL, and their usual ports. */
const PORTS: Readonly<Record<string, number>> = { 'rtsp:': 554, 'rtsps:': 322 }
const NOT_BUILT = new Set(['rtmp:', 'rtmps:', 'srt:', 'whep:', 'wheps:', 'http:', 'https:'])

/** Where to dial for the URL of a source that was checked. */
export const pullPort = ({ port, protocol }: URL): number => (port === '' ? (PORTS[protocol] ?? 0) : Number(port))

/** Whether a text is the URL of a source to pull. The refusal is a predicate after the name of the field. */
export function readPullUrl(text: string, policy: TargetPolicy): Result<URL, string> {
  if (text.length > URL_MAX) return err(`must be at most ${URL_MAX} characters long`)
  if (hasOddCharacters(text)) return err('must not contain spaces, control characters or backslashes')
  const url = URL.parse(text)
  if (url === null) return err(NO_URL)
  const refusal = refuseScheme(url) ?? refuseParts(url) ?? refuseHost(url, policy)
  return refusal === null ? ok(url) : err(refusal)
}

const NO_URL = 'must begin with rtsp:// or rtsps://'

function refuseScheme({ protocol }: URL): string | null {
  if (protocol in PORTS) return null
  return NOT_BUILT.has(protocol) ? `${NO_URL}; ${protocol}// is not built` : NO_URL
}

function refuseParts(url: URL): string | null {
  if (url.hash !== '') return 'must not contain a fragment (#)'
  const port = pullPort(url)
  return isOddPort(port) ? `must not use port ${port}` : null
}

/** This checks the text only: each dial checks the addresses that a name resolves to. */
function refuseHost(url: URL, { allowPrivate, isOurs }: TargetPolicy): string | null {
  const isLoop = isOurs(hostOf(url).toLowerCase(), pullPort(url), 'tcp')
  return refuseAuthority(url, allowPrivate) ?? (isLoop ? 'must not lead to this server' : null)
}

const MASK = '••••'

/** Some cameras take their password in the path. */
const IN_PATH = /((?:password|passwd|pass|pwd|token|key)=)[^/&]*/gi

/** The URL of a source as records show it: without its password, its query, and a password in its path. */
export function shownPullUrl({ protocol, username, password, host, pathname, search }: URL): string {
  const user = username === '' ? '' : `${username}${password === '' ? '' : `:${MASK}`}@`
  return `${protocol}//${user}${host}${pathname.replaceAll(IN_PATH, `$1${MASK}`)}${search === '' ? '' : `?${MASK}`}`
}

/** The same for a reader who sees no secrets. */
export const hostOfPull = (shown: string): string => shown.replace(/^([a-z]+:\/\/)(?:[^/?@]*@)?([^/?]*).*$/, '$1$2/')

/** True of a URL that a record has shown. In an update it means: keep the URL. */
export const isShownPullUrl = (text: string): boolean => text.includes(MASK)
