const HIDDEN = '[hidden]'
const MAX_DEPTH = 6
const MAX_ENTRIES = 100
const MAX_TEXT = 4000

/** Names whose value is a secret, in any spelling: `token`, `apiSecret`, `set-cookie`, `a_password`. Not `tokenId`. */
const SECRET_NAME = /(token|secret|password|passphrase|authorization|cookie|credential|apikey|sealingkey|privatekey)s?$/

const isSecretName = (name: string): boolean => {
  const plain = name.toLowerCase().replaceAll(/[^a-z]/g, '')
  return plain === 'value' || plain === 'auth' || SECRET_NAME.test(plain)
}

/** Secrets inside of text: in a query, a header or a URL, and our own (64 hexadecimal digits, anywhere). */
const SECRET_TEXTS: readonly (readonly [RegExp, string])[] = [
  [/([?&](?:auth|token|secret|password|passphrase|key|signature)=)[^&\s"']+/gi, `$1${HIDDEN}`],
  [/\b(bearer|basic) +[\w.~+/=:-]+/gi, `$1 ${HIDDEN}`],
  [/(:\/\/)[^\s/@]+@/g, `$1${HIDDEN}@`],
  [/\b[0-9a-f]{64}\b/gi, HIDDEN],
]

/** A copy for the log: without secrets, and bounded in depth, width and length. Errors become plain objects. */
export function clean(text: string): string
export function clean(value: object): object
export function clean(value: unknown): unknown
export function clean(value: unknown): unknown {
  return cleaned(value, 0)
}

function cleaned(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return cleanText(value)
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH) return '[deep]'
  if (value instanceof Error) return cleanError(value, depth)
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString()
  // Bytes are keys, hashes or media; none of them is readable.
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (Array.isArray(value)) return value.slice(0, MAX_ENTRIES).map((item) => cleaned(item, depth + 1))
  return cleanObject(value, depth)
}

function cleanObject(value: object, depth: number): object {
  const entries = Object.entries(value).slice(0, MAX_ENTRIES)
  return Object.fromEntries(
    entries.map(([name, item]: [string, unknown]) => [name, hides(name, item) ? HIDDEN : cleaned(item, depth + 1)]),
  )
}

/** An absent or empty secret stays visible, because that is often what an operator looks for. */
const hides = (name: string, item: unknown): boolean =>
  isSecretName(name) && item !== undefined && item !== null && item !== '' && typeof item !== 'boolean'

function cleanError(error: Error, depth: number): object {
  const { name, message, stack, cause } = error
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
  // A translated error often has the words of its cause, which the log would put behind its own.
  const saysMore = cause !== undefined && !(cause instanceof Error && cause.message === message)
  const because = saysMore ? { cause: cleaned(cause, depth + 1) } : {}
  return { type: name, message: cleanText(message), ...code, stack: cleanText(stack ?? ''), ...because }
}

function cleanText(text: string): string {
  const short = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text
  return SECRET_TEXTS.reduce((rest, [pattern, replacement]) => rest.replaceAll(pattern, replacement), short)
}
