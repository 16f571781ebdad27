import { parseIpv4 } from '../../base/ipText.ts'
import { isPublicAddress } from './publicAddress.ts'
import { plainTextProblem } from './text.ts'

// What every URL has to keep to that a user gives and Sluice dials: of webhooks, of targets and of sources. Refusals are predicates
// after the name of the field. They judge the text only: each dial checks the addresses that a name resolves to.

export const URL_MAX = 2048

/** Names that never resolve on the public internet (RFC 6761, RFC 6762, RFC 8375, RFC 9476 and ICANN's `.internal`). */
const PRIVATE_SUFFIXES = ['localhost', 'localdomain', 'local', 'internal', 'home.arpa', 'alt']

/** Why a text cannot be read as a URL in one way only; null: it can. */
export function refuseText(text: string): string | null {
  if (text.length > URL_MAX) return `must be at most ${URL_MAX} characters long`
  // The parser would silently drop tabs and newlines, read a backslash as a slash and replace half of a surrogate pair. The
  // owner would see one target and we would dial another.
  return hasOddCharacters(text) ? ODD_CHARACTERS : plainTextProblem(text)
}

export const ODD_CHARACTERS = 'must not contain spaces, control characters or backslashes'

/** URL parsers drop or reinterpret some of these, so a reader would see a different URL. */
export function hasOddCharacters(text: string): boolean {
  // oxlint-disable-next-line no-control-regex
  return /[\u0000-\u0020\u007f-\u00a0\u2028\u2029\ufeff\\]/.test(text)
}

export const refuseLogin = ({ username, password }: URL): string | null =>
  username === '' && password === '' ? null : 'must not contain a user name or a password'

/** The setting that allows private addresses. */
type Setting = 'media.allowedNetworks' | 'webhooks.allowPrivateTargets'

/** The host to resolve or check: without the brackets of IPv6 and without the dot of an absolute name. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
}

/** True when the host is an address and not a name. `host` comes from `hostOf`. */
export const isAddress = (host: string): boolean => parseIpv4(host) !== null || host.includes(':')

/** Why a host may not be dialled on behalf of an untrusted user, as a predicate after the field name; null: it may. */
export function refuseHost(url: URL, allowPrivate: boolean, setting: Setting): string | null {
  const host = hostOf(url)
  if (host === '' || host.endsWith('.') || host.startsWith('.') || host.includes('..')) return 'must name a valid host'
  if (allowPrivate) return null
  const others = `(the setting \`${setting}\` allows others)`
  if (isAddress(host))
    return isPublicAddress(host) ? null : `must lead to a public address; ${host} is not one ${others}`
  return isPrivateName(host) ? `must lead to a public host; the name ${host} is a private one ${others}` : null
}

/** The private networks that media may come from and go to. */
export interface AllowedNetworks {
  /** There are some, which may have names of their own. */
  readonly allowPrivate: boolean
  readonly hasAddress: (address: string) => boolean
}

/** As `refuseHost`, of media. The parser does not normalize hosts of unknown schemes, so unusual ones are refused here. */
export function refuseAuthority(url: URL, { allowPrivate, hasAddress }: AllowedNetworks): string | null {
  const host = hostOf(url)
  // 0x7f.1, 2130706433 and 127.1 are addresses to a resolver, but no user writes a host like that.
  if (!isAddress(host) && !/^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/i.test(host)) return 'must name a valid host'
  if (!isAddress(host) && /(^|\.)(0x[0-9a-f]*|\d+)$/i.test(host)) return 'must name a valid host'
  if (url.port === '0') return 'must not use port 0'
  const isOutside = allowPrivate && isAddress(host) && !isPublicAddress(host) && !hasAddress(host)
  return isOutside
    ? `must lead to a public address, or into a network of \`media.allowedNetworks\`; ${host} is in none`
    : refuseHost(url, allowPrivate, 'media.allowedNetworks')
}

/** A name of one label (`backend`, `metadata`) can only be local. */
function isPrivateName(host: string): boolean {
  return !host.includes('.') || PRIVATE_SUFFIXES.some((suffix) => host === suffix || host.endsWith(`.${suffix}`))
}
