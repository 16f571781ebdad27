import { err, ok, type Result } from '../../base/result.ts'
import { decodeCursorBytes, encodeBase64url, PartReader, PartWriter } from './bytes.ts'

/**
 * The one cursor of every list: where the last page ended, as the sort key of its last item. It is opaque and signed,
 * so that a client neither builds nor edits one; it holds no secret and grants nothing.
 *
 *   version | list | number of key parts | the parts | tag of the filters (8 bytes) | tag of all before (12 bytes)
 *
 * Parts carry their length, so no value can be mistaken for two. The tags are a keyed hash, cut short: 12 bytes leave
 * a forger one chance in 2^96 a try.
 */

/** A keyed hash of at least 12 bytes, such as HMAC-SHA256 with a key of this installation. */
export type Mac = (data: Uint8Array) => Uint8Array

/** One field of a sort key. Numbers are whole and safe. */
export type KeyPart = string | number | null

/** What a cursor is bound to. */
export interface CursorScope {
  /** Name of the list, unique in the project. */
  list: string
  /** Account, parent id and filters: a cursor made under others is refused. Undefined values count as absent. */
  filters: Readonly<Record<string, string | number | boolean | undefined>>
}

const VERSION = 1
const FILTER_TAG_BYTES = 8
const TAG_BYTES = 12
const KEY_PARTS_MAX = 4
/** Room for a sort key with a name of 128 characters of four bytes; `(createdAt, id)` takes about 100. */
const CURSOR_MAX = 1024

const encoder = new TextEncoder()

/** @throws RangeError when the key has more than 4 parts, is too long, or holds a number that is not a safe integer */
export function encodeCursor(scope: CursorScope, key: readonly KeyPart[], mac: Mac): string {
  if (key.length > KEY_PARTS_MAX) throw new RangeError(`a sort key has at most ${KEY_PARTS_MAX} parts`)
  const writer = new PartWriter().byte(VERSION).text(scope.list).byte(key.length)
  for (const part of key) writer.text(partToText(part))
  const signed = writer.raw(filterTag(scope, mac)).bytes()
  const cursor = encodeBase64url(concat(signed, tagOf(signed, mac)))
  if (cursor.length > CURSOR_MAX) throw new RangeError('the sort key is too long for a cursor')
  return cursor
}

/**
 * The sort key; `invalid_cursor` for one that is forged, cut, of another version or list, or made under other filters.
 */
export function decodeCursor(text: unknown, scope: CursorScope, mac: Mac): Result<KeyPart[], 'invalid_cursor'> {
  const bytes = typeof text === 'string' && text.length <= CURSOR_MAX ? decodeCursorBytes(text) : null
  if (bytes === null || bytes.length < TAG_BYTES) return err('invalid_cursor')
  const signed = bytes.subarray(0, -TAG_BYTES)
  if (!sameBytes(bytes.subarray(-TAG_BYTES), tagOf(signed, mac))) return err('invalid_cursor')
  const key = readSigned(signed, scope, mac)
  return key === null ? err('invalid_cursor') : ok(key)
}

/** The signature held, so the layout is ours, but perhaps that of another version, list or filter. */
function readSigned(signed: Uint8Array, scope: CursorScope, mac: Mac): KeyPart[] | null {
  const reader = new PartReader(signed)
  if (reader.byte() !== VERSION || reader.text() !== scope.list) return null
  const count = reader.byte() ?? 0
  const key: KeyPart[] = []
  for (let index = 0; index < count; index++) {
    const part = partFromText(reader.text())
    if (part === undefined) return null
    key.push(part)
  }
  return sameBytes(reader.rest(), filterTag(scope, mac)) ? key : null
}

function partToText(part: KeyPart): string {
  if (part === null) return '0'
  if (typeof part === 'string') return `s${part}`
  if (!Number.isSafeInteger(part)) throw new RangeError('a number in a sort key must be a safe integer')
  return `n${part}`
}

function partFromText(text: string | null): KeyPart | undefined {
  if (text === null) return undefined
  if (text === '0') return null
  if (text.startsWith('s')) return text.slice(1)
  return /^n-?\d{1,16}$/.test(text) ? Number(text.slice(1)) : undefined
}

/** The first byte keeps the two uses of the key apart: a filter can never be made to look like a signed cursor. */
function filterTag({ filters }: CursorScope, mac: Mac): Uint8Array {
  const sent = Object.entries(filters).filter(([, value]) => value !== undefined)
  const canonical = JSON.stringify(sent.sort(([a], [b]) => (a < b ? -1 : 1)))
  return cut(mac(concat(Uint8Array.of(1), encoder.encode(canonical))), FILTER_TAG_BYTES)
}

function tagOf(signed: Uint8Array, mac: Mac): Uint8Array {
  return cut(mac(concat(Uint8Array.of(2), signed)), TAG_BYTES)
}

function cut(tag: Uint8Array, bytes: number): Uint8Array {
  if (tag.length < TAG_BYTES) throw new RangeError(`the keyed hash must give at least ${TAG_BYTES} bytes`)
  return tag.subarray(0, bytes)
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  const joined = new Uint8Array(a.length + b.length)
  joined.set(a)
  joined.set(b, a.length)
  return joined
}

/** In a time that does not tell where the first difference is. */
function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  let difference = 0
  for (const [index, byte] of a.entries()) difference |= byte ^ (b[index] ?? 0)
  return difference === 0
}
