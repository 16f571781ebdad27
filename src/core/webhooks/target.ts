import { err, ok, type Result } from '../../base/result.ts'
import { isPublicAddress, parseV4 } from '../validation/publicAddress.ts'

export const URL_MAX = 2048

/** Names that never resolve on the public internet (RFC 6761, RFC 6762, RFC 8375, RFC 9476 and ICANN's `.internal`). */
const PRIVATE_SUFFIXES = ['localhost', 'localdomain', 'local', 'internal', 'home.arpa', 'alt']

/**
 * Whether a webhook may point to this URL. The refusal is a sentence for its owner. This checks the text only; each
 * dial checks the addresses that a name resolves to.
 */
export function checkTarget(text: string, allowPrivate: boolean): Result<URL, string> {
  if (text.length > URL_MAX) return err(`must be at most ${URL_MAX} characters long`)
  // The parser would silently drop tabs and newlines and read a backslash as a slash. The owner would see one
  // target and we would dial another.
  if (hasOddCharacters(text)) return err('must not contain spaces, control characters or backslashes')
  const url = URL.parse(text)
  if (!url) return err('must be an absolute URL, such as https://hooks.example.com/sluice')
  const reason = refuseScheme(url, allowPrivate) ?? refuseHost(url, allowPrivate)
  return reason === null ? ok(url) : err(reason)
}

/** The host to resolve or check: without the brackets of IPv6 and without the dot of an absolute name. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
}

/** True when the host is an address and not a name. `host` comes from `hostOf`. */
export const isAddress = (host: string): boolean => parseV4(host) !== null || host.includes(':')

/** URL parsers drop or reinterpret some of these, so a reader would see a different URL. */
export function hasOddCharacters(text: string): boolean {
  // oxlint-disable-next-line no-control-regex
  return /[\u0000-\u0020\u007f-\u00a0\u2028\u2029\ufeff\\]/.test(text)
}

function refuseScheme(url: URL, allowPrivate: boolean): string | null {
  if (url.protocol !== 'https:' && !(allowPrivate && url.protocol === 'http:')) {
    return allowPrivate ? 'must begin with https:// or http://' : 'must begin with https://'
  }
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or a password'
  return url.port === '0' ? 'must not use port 0' : null
}

/** Why a host may not be dialled on behalf of an untrusted user, as a predicate after the field name; null: it may. */
function refuseHost(url: URL, allowPrivate: boolean): string | null {
  const host = hostOf(url)
  if (host === '' || host.endsWith('.') || host.startsWith('.') || host.includes('..')) return 'must name a valid host'
  if (allowPrivate) return null
  if (isAddress(host)) return isPublicAddress(host) ? null : `must lead to a public address; ${host} is not one`
  return isPrivateName(host) ? `must lead to a public host; the name ${host} is a private one` : null
}

/** As `refuseHost`. The parser does not normalize hosts of unknown schemes, so unusual ones are refused here. */
export function refuseAuthority(url: URL, allowPrivate: boolean): string | null {
  const host = hostOf(url)
  // 0x7f.1, 2130706433 and 127.1 are addresses to a resolver, but no user writes a host like that.
  if (!isAddress(host) && !/^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/i.test(host)) return 'must name a valid host'
  if (!isAddress(host) && /(^|\.)(0x[0-9a-f]*|\d+)$/i.test(host)) return 'must name a valid host'
  return url.port === '0' ? 'must not use port 0' : refuseHost(url, allowPrivate)
}

/** A name of one label (`backend`, `metadata`) can only be local. */
function isPrivateName(host: string): boolean {
  return !host.includes('.') || PRIVATE_SUFFIXES.some((suffix) => host === suffix || host.endsWith(`.${suffix}`))
}
