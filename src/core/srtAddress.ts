import { percentDecoded } from '../base/percent.ts'
import { err, ok, type Result } from '../base/result.ts'

/** Addresses of SRT listeners: `srt://host:port?streamid=…&passphrase=…&latency=…`. */

/** The longest wait for a lost packet, milliseconds. */
const LATENCY_MAX_MS = 8000
const LATENCY_MS = 120
const STREAM_ID_MAX_BYTES = 512
const KEY_BYTES: Readonly<Record<string, 16 | 24 | 32>> = { 16: 16, 24: 24, 32: 32 }

/** What an address says beside host and port. */
export interface SrtParameters {
  /** Empty: none. */
  readonly streamId: string
  /** Null: not encrypted. */
  readonly passphrase: string | null
  /** Of AES. */
  readonly keyBytes: 16 | 24 | 32
  readonly latencyMs: number
}

/** Each check returns a predicate after the name of the field; null: the value is right. It never shows a value. */
const RULES: Readonly<Record<string, (value: string) => string | null>> = {
  streamid: (value) =>
    value !== '' && new TextEncoder().encode(value).length <= STREAM_ID_MAX_BYTES
      ? null
      : `must have a streamid of 1 to ${STREAM_ID_MAX_BYTES} bytes`,
  passphrase: (value) =>
    /^[A-Za-z0-9_-]{10,79}$/.test(value)
      ? null
      : 'must have a passphrase of 10 to 79 letters, digits, hyphens and underscores',
  latency: (value) =>
    /^\d{1,5}$/.test(value) && Number(value) <= LATENCY_MAX_MS
      ? null
      : `must have a latency of 0 to ${LATENCY_MAX_MS} milliseconds`,
  pbkeylen: (value) => (Object.hasOwn(KEY_BYTES, value) ? null : 'must have a pbkeylen of 16, 24 or 32 bytes'),
  mode: (value) => (value === 'caller' ? null : 'must have the mode caller, or none'),
}

const SECRETS = new Set(['streamid', 'passphrase'])

type Pair = readonly [name: string, value: string]

/** In the order of the text. A plus stands for itself, as in the stream ids of encoders. */
function pairsOf(url: URL): Pair[] {
  const parts = url.search.slice(1).split('&')
  return parts.filter((part) => part !== '').map((part) => splitPair(part))
}

function splitPair(part: string): Pair {
  const at = part.indexOf('=')
  return at < 0 ? [part, ''] : [part.slice(0, at), percentDecoded(part.slice(at + 1))]
}

/** Reads the parameters of an address whose scheme and host are right. The refusal is a predicate after the name of the field. */
export function readSrtParameters(url: URL): Result<SrtParameters, string> {
  if (url.port === '') return err('must have a port: srt://host:9000')
  if (!['', '/'].includes(url.pathname)) return err('must not have a path: SRT names its stream in streamid')
  const pairs = pairsOf(url)
  const refusal = pairs.map(refusePair).find((one) => one !== null) ?? refuseTwice(pairs)
  if (refusal !== null) return err(refusal)
  const value = Object.fromEntries(pairs) as Partial<Record<string, string>>
  return ok({
    streamId: value['streamid'] ?? '',
    passphrase: value['passphrase'] ?? null,
    keyBytes: KEY_BYTES[value['pbkeylen'] ?? ''] ?? 16,
    latencyMs: Number(value['latency'] ?? LATENCY_MS),
  })
}

function refusePair([name, value]: Pair): string | null {
  const rule = Object.hasOwn(RULES, name) ? RULES[name] : undefined
  if (rule !== undefined) return rule(value)
  return `must not set ${name.slice(0, 32)}; SRT addresses have ${Object.keys(RULES).join(', ')}`
}

function refuseTwice(pairs: readonly Pair[]): string | null {
  const twice = pairs.find(([name], at) => pairs.findIndex(([other]) => other === name) < at)
  return twice === undefined ? null : `must not set ${twice[0]} twice`
}

/** The address with each secret as `show` makes it. A stream id is one: it often has a key in it. */
export function withSrtSecrets(text: string, show: (secret: string) => string): string {
  const [head = '', ...query] = text.split('?')
  if (query.length === 0) return text
  const parts = query.join('?').split('&')
  const shown = parts.map((part) => {
    const [name, value] = splitPair(part)
    return SECRETS.has(name) ? `${name}=${show(value)}` : part
  })
  return `${head}?${shown.join('&')}`
}
