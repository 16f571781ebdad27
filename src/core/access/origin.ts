import { err, ok, type Result } from '../../base/result.ts'

/** One parsed entry of `allowedOrigins`. */
export interface OriginRule {
  /** Canonical text. Parsing it again gives the same rule. */
  readonly text: string
  /** Lower case, after IDNA; an IPv6 literal keeps its brackets. Without the `*.` of a wildcard. */
  readonly host: string
  /** `*.host`: any depth of subdomain, not the host itself. */
  readonly subdomains: boolean
  /** Lower case. Null: both http and https, and no other. */
  readonly scheme: string | null
  /**
   * Without a scheme, null is any port. With http or https it is never null: without an explicit port it is the scheme's
   * default. Other schemes have no default, so null is an origin without a port.
   */
  readonly port: number | null
}

/** The parts of an `Origin` header (RFC 6454 section 7) that rules are compared with. */
interface Origin {
  readonly scheme: string
  readonly host: string
  readonly port: number | null
}

const MAX_LENGTH = 255
const MAX_HOST_LENGTH = 253
const DEFAULT_PORTS: ReadonlyMap<string, number> = new Map([
  ['http', 80],
  ['https', 443],
])
const FORM = 'host, *.host, scheme://host or scheme://host:port is allowed'

/** Scheme, wildcard, host and port. `canonicalHost` decides which hosts are valid. */
const RULE = /^(?:([a-z][a-z0-9+.-]*):\/\/)?(\*\.)?(\[[0-9a-f:.]+\]|[^\s/?#@\\:*[\]]+)(?::(\d{1,5}))?$/i
const ORIGIN = /^([a-z][a-z0-9+.-]*):\/\/(\[[0-9a-f:.]+\]|[^\s/?#@\\:*[\]]+)(?::(\d{1,5}))?$/i

/** Hosts that IDNA leaves unchanged: plain lower-case names whose last label no URL parser takes for a number. */
const PLAIN_HOST = /^(?:[a-z0-9-]+\.)*[a-z][a-z0-9-]*$/
const CANONICAL_NAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/
const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/

/**
 * Parses one allowed origin. A rule without a scheme matches http and https. Without scheme and port it matches any
 * port. With a scheme but no port it matches only that scheme's default port. Apps and extensions have schemes of their
 * own (`capacitor://localhost`): such a rule matches exactly one origin.
 */
export function parseOriginRule(text: string): Result<OriginRule, string> {
  if (text.length === 0 || text.length > MAX_LENGTH) return err(`must have 1 to ${MAX_LENGTH} characters`)
  const match = RULE.exec(text)
  if (match === null) return err(whyNoRule(text))
  const scheme = match[1]?.toLowerCase() ?? null
  const host = canonicalHost(match[3] ?? '')
  if (host === null) return err(`the host is not a valid domain name or address; ${FORM}`)
  const subdomains = match[2] !== undefined
  if (subdomains && isIpLiteral(host)) return err('an IP address has no subdomains')
  if (subdomains && scheme !== null && !isWeb(scheme)) return err('a wildcard is for http and https only')
  const port = parsePort(match[4])
  if (port === 'invalid') return err('the port must be a number from 1 to 65535 without leading zeros')
  return finish({ scheme, subdomains, host, port: port ?? defaultPort(scheme) })
}

/**
 * Whether an `Origin` header, as sent, matches one of the rules. A missing header, `null`, several origins, and any
 * other text that is not exactly one origin match none.
 */
export function matchesOrigin(rules: readonly OriginRule[], header: string | null): boolean {
  const origin = header === null ? null : cachedOrigin(header)
  if (origin === null) return false
  for (const rule of rules) if (matchesRule(rule, origin)) return true
  return false
}

function matchesRule(rule: OriginRule, origin: Origin): boolean {
  if (rule.scheme === null ? !isWeb(origin.scheme) : rule.scheme !== origin.scheme) return false
  const anyPort = rule.scheme === null && rule.port === null
  if (!anyPort && rule.port !== origin.port) return false
  return rule.subdomains ? isSubdomain(origin.host, rule.host) : origin.host === rule.host
}

function isSubdomain(host: string, parent: string): boolean {
  const dot = host.length - parent.length - 1
  return host[dot] === '.' && host.endsWith(parent)
}

/** Size of the cache of parsed origins: all viewers of a site send the same one. */
const CACHED_ORIGINS_MAX = 256
const origins = new Map<string, Origin | null>()

function cachedOrigin(header: string): Origin | null {
  const cached = origins.get(header)
  if (cached !== undefined) return cached
  const origin = parseOrigin(header)
  if (header.length > MAX_LENGTH) return origin
  if (origins.size >= CACHED_ORIGINS_MAX) origins.clear()
  origins.set(header, origin)
  return origin
}

function parseOrigin(header: string): Origin | null {
  const match = header.length <= MAX_LENGTH + 16 ? ORIGIN.exec(header) : null
  if (match === null) return null
  const scheme = (match[1] ?? '').toLowerCase()
  const host = canonicalHost(match[2] ?? '')
  const port = parsePort(match[3])
  if (host === null || port === 'invalid') return null
  return { scheme, host, port: port ?? defaultPort(scheme) }
}

const isWeb = (scheme: string): boolean => DEFAULT_PORTS.has(scheme)

const defaultPort = (scheme: string | null): number | null => (scheme && DEFAULT_PORTS.get(scheme)) || null

function finish(rule: Omit<OriginRule, 'text'>): Result<OriginRule, string> {
  const { scheme, host, subdomains } = rule
  const port = rule.port === defaultPort(scheme) ? null : rule.port
  const text = `${scheme === null ? '' : `${scheme}://`}${subdomains ? '*.' : ''}${host}${port === null ? '' : `:${port}`}`
  if (text === 'null') return err(`the null origin of sandboxed pages names no site, so it cannot be allowed; ${FORM}`)
  return text.length <= MAX_LENGTH ? ok({ ...rule, text }) : err(`is longer than ${MAX_LENGTH} characters after IDNA`)
}

/**
 * The host as a browser would put it into an `Origin` header, or null. The URL parser also takes `0x7f.1` for
 * 127.0.0.1 and decodes `%41`. Hosts that it had to reinterpret are refused, because the author may have meant
 * another host.
 */
function canonicalHost(text: string): string | null {
  if (text.length <= MAX_HOST_LENGTH && PLAIN_HOST.test(text) && !text.includes('xn--')) return text
  if (text.startsWith('[')) return urlHost(text)
  if (/[^\w.\u0080-\u{10ffff}-]/u.test(text) || hasControlOrSpace(text)) return null
  const host = urlHost(text)
  if (host === null || host.length > MAX_HOST_LENGTH || !CANONICAL_NAME.test(host)) return null
  return IPV4.test(host) && host !== text ? null : host
}

const hasControlOrSpace = (text: string): boolean => /[\p{Cc}\p{Cs}\p{Z}]/u.test(text)

function urlHost(host: string): string | null {
  const url = `http://${host}/`
  return URL.canParse(url) ? new URL(url).hostname : null
}

const isIpLiteral = (host: string): boolean => host.startsWith('[') || IPV4.test(host)

/** Null when there is no port. */
function parsePort(text: string | undefined): number | null | 'invalid' {
  if (text === undefined) return null
  const port = Number(text)
  return port >= 1 && port <= 65_535 && String(port) === text ? port : 'invalid'
}

function whyNoRule(text: string): string {
  if (text === '*') return `a bare * is not supported, leave the list empty to allow every origin; ${FORM}`
  if (text.includes('*')) return `a wildcard may only stand for the whole left part, as in *.example.com; ${FORM}`
  if (text.includes('@')) return `user information is not part of an origin; ${FORM}`
  const rest = text.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '')
  if (/[/\\?#]/.test(rest)) return `a path, query or fragment is not part of an origin; ${FORM}`
  return `is not an origin; ${FORM}`
}
