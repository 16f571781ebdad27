import { err, ok, type Result } from '../../base/result.ts'

/** One entry of `allowedOrigins`, parsed. */
export interface OriginRule {
  /** Canonical text; parsing it again gives the same rule. */
  readonly text: string
  /** Lower case, after IDNA; an IPv6 literal keeps its brackets. Without the `*.` of a wildcard. */
  readonly host: string
  /** `*.host`: any depth of subdomain, not the host itself. */
  readonly subdomains: boolean
  /** Null: both http and https. */
  readonly scheme: Scheme | null
  /** Null: any port. A rule with a scheme always has a port, if need be the scheme's default. */
  readonly port: number | null
}

export type Scheme = 'http' | 'https'

/** The parts of an `Origin` header (RFC 6454 section 7) that rules are compared with. */
interface Origin {
  readonly scheme: Scheme
  readonly host: string
  readonly port: number
}

const MAX_LENGTH = 255
const MAX_HOST_LENGTH = 253
const DEFAULT_PORT: Readonly<Record<Scheme, number>> = { http: 80, https: 443 }
const FORM = 'host, *.host, scheme://host or scheme://host:port is allowed'

/** Scheme, wildcard, host and port. What a host may hold is settled by `canonicalHost`. */
const RULE = /^(?:([a-z][a-z0-9+.-]*):\/\/)?(\*\.)?(\[[0-9a-f:.]+\]|[^\s/?#@\\:*[\]]+)(?::(\d{1,5}))?$/i
const ORIGIN = /^(https?):\/\/(\[[0-9a-f:.]+\]|[^\s/?#@\\:*[\]]+)(?::(\d{1,5}))?$/i

/** Hosts that IDNA leaves as they are: plain lower-case names whose last label no URL parser takes for a number. */
const PLAIN_HOST = /^(?:[a-z0-9-]+\.)*[a-z][a-z0-9-]*$/
const CANONICAL_NAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/
const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/

/**
 * Reads one allowed origin. A rule without a scheme stands for http and https; without scheme and port, for any port;
 * with a scheme but no port, for that scheme's default port only.
 */
export function parseOriginRule(text: string): Result<OriginRule, string> {
  if (text.length === 0 || text.length > MAX_LENGTH) return err(`must have 1 to ${MAX_LENGTH} characters`)
  const match = RULE.exec(text)
  if (match === null) return err(whyNoRule(text))
  const scheme = match[1]?.toLowerCase() ?? null
  if (scheme !== null && scheme !== 'http' && scheme !== 'https') return err('the scheme must be http or https')
  const host = canonicalHost(match[3] ?? '')
  if (host === null) return err(`the host is not a valid domain name or address; ${FORM}`)
  const subdomains = match[2] !== undefined
  if (subdomains && isIpLiteral(host)) return err('an IP address has no subdomains')
  const port = parsePort(match[4])
  if (port === 'invalid') return err('the port must be a number from 1 to 65535 without leading zeros')
  return finish({ scheme, subdomains, host, port: port ?? (scheme === null ? null : DEFAULT_PORT[scheme]) })
}

/**
 * Whether an `Origin` header, as sent, satisfies one of the rules. No header, `null`, several origins and anything else
 * that is not exactly one http(s) origin satisfy none.
 */
export function matchesOrigin(rules: readonly OriginRule[], header: string | null): boolean {
  const origin = header === null ? null : knownOrigin(header)
  if (origin === null) return false
  for (const rule of rules) if (matchesRule(rule, origin)) return true
  return false
}

function matchesRule(rule: OriginRule, origin: Origin): boolean {
  if (rule.scheme !== null && rule.scheme !== origin.scheme) return false
  if (rule.port !== null && rule.port !== origin.port) return false
  return rule.subdomains ? isSubdomain(origin.host, rule.host) : origin.host === rule.host
}

function isSubdomain(host: string, parent: string): boolean {
  const dot = host.length - parent.length - 1
  return host[dot] === '.' && host.endsWith(parent)
}

/** How many origins are remembered: all viewers of a site come with the same one. */
const REMEMBERED = 256
const origins = new Map<string, Origin | null>()

function knownOrigin(header: string): Origin | null {
  const known = origins.get(header)
  if (known !== undefined) return known
  const origin = parseOrigin(header)
  if (header.length > MAX_LENGTH) return origin
  if (origins.size >= REMEMBERED) origins.clear()
  origins.set(header, origin)
  return origin
}

function parseOrigin(header: string): Origin | null {
  const match = header.length <= MAX_LENGTH + 16 ? ORIGIN.exec(header) : null
  if (match === null) return null
  const scheme = match[1]?.toLowerCase() === 'https' ? 'https' : 'http'
  const host = canonicalHost(match[2] ?? '')
  const port = parsePort(match[3])
  if (host === null || port === 'invalid') return null
  return { scheme, host, port: port ?? DEFAULT_PORT[scheme] }
}

function finish(rule: Omit<OriginRule, 'text'>): Result<OriginRule, string> {
  const { scheme, host, subdomains } = rule
  const port = scheme !== null && rule.port === DEFAULT_PORT[scheme] ? null : rule.port
  const text = `${scheme === null ? '' : `${scheme}://`}${subdomains ? '*.' : ''}${host}${port === null ? '' : `:${port}`}`
  if (text === 'null') return err(`the null origin of sandboxed pages names nobody, so it cannot be allowed; ${FORM}`)
  return text.length <= MAX_LENGTH ? ok({ ...rule, text }) : err(`is longer than ${MAX_LENGTH} characters after IDNA`)
}

/**
 * The host as a browser would put it into an `Origin` header, or null. The URL parser also takes `0x7f.1` for 127.0.0.1
 * and decodes `%41`: what it had to reinterpret like that is refused, because its writer may have meant something else.
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

/** Null when there is none. */
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
