import { words } from '../../words/words.ts'
import { renditionOf } from './renditions.ts'

/**
 * Checks of single entries while they are typed. Each returns a sentence about the mistake, or null. A check finds the
 * common mistakes only: the server decides, and its errors stand at the same field.
 */

const text = words.tokens.checks

/** ISO 3166-1 alpha-2, and XK (Kosovo), which address databases use. */
const COUNTRIES = new Set(
  (
    'AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ ' +
    'CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO ' +
    'FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE ' +
    'JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO ' +
    'MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW ' +
    'PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM ' +
    'TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW'
  ).split(' '),
)

/** Checks a country code, in either case. */
export function checkCountry(entry: string): string | null {
  const code = entry.toUpperCase()
  if (COUNTRIES.has(code)) return null
  return code === 'UK' ? text.uk : text.country(entry)
}

/** Checks an IPv4 address or an IPv4 block in CIDR form. */
export function checkAddress(entry: string): string | null {
  if (entry.includes(':')) return text.ipv6(entry)
  if (entry.includes('*')) return text.addressWildcard(entry)
  if (entry.includes('-')) return text.addressRange(entry)
  const [address = '', prefix, ...rest] = entry.split('/')
  if (rest.length > 0 || (prefix !== undefined && !isWhole(prefix, 32))) return text.prefix(entry)
  const parts = address.split('.')
  if (parts.length !== 4) return text.address(entry)
  const wrong = parts.find((part) => !isWhole(part, 255))
  if (wrong === undefined) return null
  if (/^\d+$/.test(wrong) && Number(wrong) > 255) return text.octet(entry, wrong)
  return /^0\d+$/.test(wrong) ? text.zeros(entry) : text.address(entry)
}

/** Checks a rendition: its height, and its bitrate in kilobits a second. */
export function checkRendition(entry: string): string | null {
  const { height, bitrate } = renditionOf(entry)
  if (height === 0 || bitrate === 0) return text.rendition(entry)
  if (height < 96 || height > 1080 || height % 2 === 1) return text.renditionHeight(entry)
  return bitrate < 50_000 || bitrate > 10_000_000 ? text.renditionBitrate(entry) : null
}

const isWhole = (digits: string, most: number): boolean => /^(0|[1-9]\d{0,2})$/.test(digits) && Number(digits) <= most

const SITE = /^(?:([a-z][a-z0-9+.-]*):\/\/)?(\*\.)?(\[[0-9a-f:.]+\]|[^\s/?#@\\:*[\]]+)(?::(\d+))?$/i
const LABEL = /^[\p{L}\p{N}\p{M}_-]+$/u

/** Checks an allowed site: host, `*.host`, optionally with scheme and port. Apps have schemes of their own. */
export function checkSite(entry: string): string | null {
  const match = SITE.exec(entry)
  if (match === null) return whyNoSite(entry)
  const [, scheme, wildcard, host = '', port] = match
  if (wildcard && scheme && !/^https?$/i.test(scheme)) return text.scheme(entry)
  if (port !== undefined && (!/^[1-9]\d{0,4}$/.test(port) || Number(port) > 65_535)) return text.port(entry)
  if (host.startsWith('[')) return null
  if (wildcard && /^\d+(\.\d+){3}$/.test(host)) return text.site(entry)
  return host.length <= 253 && host.split('.').every((label) => LABEL.test(label)) ? null : text.site(entry)
}

function whyNoSite(entry: string): string {
  const afterScheme = entry.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '')
  if (/[/?#]/.test(afterScheme)) return text.sitePath(entry)
  return entry.includes('*') ? text.siteWildcard(entry) : text.site(entry)
}

const NAME_MAX = 128

/** Counts as the server does. */
const codePoints = (text: string): number => Array.from(text).length

/** Checks the name of a stream, or the pattern of a group of streams. */
export function checkStream({ streamName, isRegex }: { streamName: string; isRegex: boolean }): string | null {
  const size = codePoints(streamName)
  if (size === 0 || size > NAME_MAX) return isRegex && size === 0 ? text.emptyPattern : text.streamLength(NAME_MAX)
  if (/\p{Cc}/u.test(streamName)) return text.control
  return isRegex ? checkPattern(streamName) : null
}

/**
 * Finds brackets without a partner, and what RE2 has not. Counts characters from 1. It knows no more of RE2: the
 * browser's own regular expressions differ from it.
 */
function checkPattern(pattern: string): string | null {
  // Everything between \Q and \E is literal; the server reads that.
  if (pattern.includes('\\Q')) return null
  const open: number[] = []
  for (let at = 0; at < pattern.length; at++) {
    const rest = pattern.slice(at)
    const place = codePoints(pattern.slice(0, at)) + 1
    if (rest === '\\') return text.lonelyBackslash(place)
    if (/^\\[1-9gk]/.test(rest)) return text.backReference(place)
    if (/^\(\?<?[=!]/.test(rest)) return text.lookAround(place)
    if (rest.startsWith('\\')) at += 1
    else if (rest.startsWith('[')) {
      const end = endOfClass(pattern, at)
      if (end < 0) return text.openClass(place)
      at = end
    } else if (rest.startsWith('(')) open.push(place)
    else if (rest.startsWith(')') && open.pop() === undefined) return text.closingBracket(place)
  }
  const last = open.at(-1)
  return last === undefined ? null : text.openBracket(last)
}

/** The index of the `]` that ends the class at `start`; -1 if there is none. A `]` right after the start is literal. */
function endOfClass(pattern: string, start: number): number {
  const first = pattern[start + 1] === '^' ? start + 2 : start + 1
  for (let at = pattern[first] === ']' ? first + 1 : first; at < pattern.length; at++) {
    if (pattern[at] === '\\') at += 1
    else if (pattern.startsWith('[:', at)) at = Math.max(at, pattern.indexOf(':]', at) + 1)
    else if (pattern[at] === ']') return at
  }
  return -1
}

/** Checks a whole number of a field. Empty is fine. */
export function checkWhole(entry: string, least: number, most: number): string | null {
  if (entry.trim() === '') return null
  const value = Number(entry)
  return /^-?\d+$/.test(entry.trim()) && value >= least && value <= most ? null : text.whole(least, most)
}

/** Checks the priority of a publisher. Empty is the lowest. */
export const checkPriority = (entry: string): string | null => checkWhole(entry, -2_147_483_648, 2_147_483_647)
