import { hasOddCharacters, hostOf, isAddress, refuseHost } from '../webhooks/target.ts'
import { INGEST_FACTS, type IngestType } from './types.ts'

export const SOURCE_URL_MAX = 2048

/** The allowed parameters of an SRT address. All others, above all `mode=listener`, would change what ffmpeg does. */
const SRT_PARAMETERS: Readonly<Record<string, RegExp>> = {
  passphrase: /^[\x21-\x7e]{10,79}$/,
  streamid: /^[\x21-\x7e]{1,512}$/,
  latency: /^\d{1,8}$/,
  pbkeylen: /^(0|16|24|32)$/,
  mode: /^caller$/,
}

/**
 * Why a source may not be dialled, as a predicate after the field name; null: it may. This checks the text only:
 * each dial checks the addresses that a name resolves to.
 */
export function refuseSource(type: IngestType, text: string, allowPrivate: boolean): string | null {
  if (hasOddCharacters(text)) return 'must not contain spaces, control characters or backslashes'
  const url = URL.parse(text)
  const schemes: readonly string[] = INGEST_FACTS[type].schemes ?? []
  if (!url || !schemes.includes(url.protocol)) return `must begin with ${schemes.map((s) => `${s}//`).join(' or ')}`
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or a password'
  if (url.hash !== '') return 'must not contain a fragment (#)'
  const reason = refuseAuthority(url, allowPrivate)
  return reason ?? (url.protocol === 'srt:' ? refuseSrt(url) : refuseRtmp(url))
}

/** As `refuseHost`. The parser does not normalize hosts of unknown schemes, so unusual ones are refused here. */
export function refuseAuthority(url: URL, allowPrivate: boolean): string | null {
  const host = hostOf(url)
  // 0x7f.1, 2130706433 and 127.1 are addresses to a resolver, but no user writes a host like that.
  if (!isAddress(host) && !/^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/i.test(host)) return 'must name a valid host'
  if (!isAddress(host) && /(^|\.)(0x[0-9a-f]*|\d+)$/i.test(host)) return 'must name a valid host'
  return url.port === '0' ? 'must not use port 0' : refuseHost(url, allowPrivate)
}

function refuseRtmp(url: URL): string | null {
  return url.pathname.length > 1 ? null : 'must have a path: rtmp://host/app/stream'
}

function refuseSrt(url: URL): string | null {
  if (url.port === '') return 'must have a port: srt://host:9000'
  for (const [name, value] of url.searchParams) {
    const rule = Object.hasOwn(SRT_PARAMETERS, name) ? SRT_PARAMETERS[name] : undefined
    if (!rule) return `must not set ${name.slice(0, 32)}; allowed: ${Object.keys(SRT_PARAMETERS).join(', ')}`
    if (!rule.test(value)) return `has a value of ${name} that is not allowed`
  }
  return null
}
