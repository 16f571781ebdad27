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

/** Strings, with the colon that makes one a key, and the brackets; all else between them is of no interest. */
const TOKENS = /"((?:[^"\\]|\\.)*)"(\s*:)?|[{}[\]]/g

/** `text` is known to be valid JSON. */
function hasUniqueKeys(text: string): boolean {
  const open: Set<string>[] = []
  for (const [token, body, colon] of text.matchAll(TOKENS)) {
    if (token === '{' || token === '[') {
      if (open.push(new Set()) > MAX_DEPTH) return false
    } else if (token === '}' || token === ']') {
      open.pop()
    } else if (colon !== undefined && !addKey(open.at(-1), body ?? '')) {
      return false
    }
  }
  return true
}

/** A key may be written with escapes: `"\u0061lg"` is `alg`. */
function addKey(keys: Set<string> | undefined, body: string): boolean {
  const key = body.includes('\\') ? (JSON.parse(`"${body}"`) as string) : body
  if (keys === undefined || keys.has(key)) return false
  keys.add(key)
  return true
}
