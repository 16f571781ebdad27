/** An object read from JSON. */
export type JsonObject = Readonly<Record<string, unknown>>

const MAX_DEPTH = 16
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads UTF-8 JSON that must be an object. Null for anything else, for nesting deeper than 16, and for a member that
 * stands twice: of two `alg`s or two `exp`s readers would pick different ones (RFC 7515 section 4, RFC 7519 section 4).
 */
export function parseJsonObject(bytes: Uint8Array): JsonObject | null {
  try {
    const text = utf8.decode(bytes)
    const value: unknown = JSON.parse(text)
    return isObject(value) && hasUniqueKeys(text) ? value : null
  } catch {
    return null
  }
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a

/** `text` is known to be valid JSON, so only quotes, colons and brackets matter. */
function hasUniqueKeys(text: string): boolean {
  const open: (Set<string> | null)[] = []
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (char === '"') {
      const end = endOfString(text, i)
      if (isKey(text, end) && !addKey(open.at(-1), text.slice(i + 1, end - 1))) return false
      i = end - 1
    } else if (char === '{' || char === '[') {
      if (open.push(char === '{' ? new Set() : null) > MAX_DEPTH) return false
    } else if (char === '}' || char === ']') {
      open.pop()
    }
  }
  return true
}

/** Index behind the closing quote of the string that starts at `start`. */
function endOfString(text: string, start: number): number {
  let i = start + 1
  while (i < text.length && text.charCodeAt(i) !== QUOTE) i += text.charCodeAt(i) === BACKSLASH ? 2 : 1
  return i + 1
}

/** JSON has four kinds of white space, all below the colon, and nothing else may stand between a key and its colon. */
function isKey(text: string, end: number): boolean {
  let i = end
  while (text.charCodeAt(i) <= 0x20) i++
  return text.charCodeAt(i) === COLON
}

/** A key may be written with escapes: `"\u0061lg"` is `alg`. */
function addKey(keys: Set<string> | null | undefined, body: string): boolean {
  const key = body.includes('\\') ? (JSON.parse(`"${body}"`) as string) : body
  if (keys === null || keys === undefined || keys.has(key)) return false
  keys.add(key)
  return true
}
