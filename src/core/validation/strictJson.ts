import { isObject } from '../../base/objects.ts'
import { isUnambiguous } from './json.ts'

/** A parsed JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>

const MAX_DEPTH = 16
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Parses UTF-8 JSON that must be an object. Null for anything else, for nesting deeper than 16, and for a repeated
 * member: of two `alg`s or two `exp`s readers would pick different ones (RFC 7515 section 4, RFC 7519 section 4).
 */
export function parseJsonObject(bytes: Uint8Array): JsonObject | null {
  try {
    const text = utf8.decode(bytes)
    const value: unknown = JSON.parse(text)
    return isObject(value) && isUnambiguous(text, value, MAX_DEPTH) ? value : null
  } catch {
    return null
  }
}
