import { err, ok, type Result } from '../../base/result.ts'
import { decodeBase64url } from '../validation/base64url.ts'
import { PartReader, PartWriter, sameBytes } from './bytes.ts'

/**
 * The cursor of every list: the sort key of the last item of the previous page. It is opaque and signed, so that a
 * client can neither build nor edit one. It contains no secret and grants nothing.
 *
 *   version | list | number of key parts | the parts | tag of the filters (8 bytes) | tag of all before (12 bytes)
 *
 * Parts carry their length, so no value can be mistaken for two. The tags are a truncated keyed hash: with 12 bytes
 * a forger has one chance in 2^96 per attempt.
 */

/** A keyed hash of at least 12 bytes, such as HMAC-SHA256 with a key of this installation. */
export type Mac = (data: Uint8Array) => Uint8Array

/** One field of a sort key. Numbers are safe integers. */
export type KeyPart = string | number | null

/** The list and filters that a cursor is bound to. */
export interface CursorScope {
  /** Name of the list, unique in the project. */
  list: string
  /**
   * Account, parent id and filters: a cursor made under different ones is refused. Undefined values count as
   * absent.
   */
  filters: Readonly<Record<string, string | number | boolean | undefined>>
}

const VERSION = 1
const FILTER_TAG_BYTES = 8
const TAG_BYTES = 12
const KEY_PARTS_MAX = 4
/** Room for a sort key with a name of 128 four-byte characters; `(createdAt, id)` takes about 100. */
const CURSOR_MAX = 1024

const encoder = new TextEncoder()

/** @throws RangeError when the key has more than 4 parts, is too long, or holds a number that is not a safe integer */
export function encodeCursor(scope: CursorScope, key: readonly KeyPart[], mac: Mac): string {
  if (key.length > KEY_PARTS_MAX) throw new RangeError(`a sort key has at most ${KEY_PARTS_MAX} parts`)
  const writer = new PartWriter().byte(VERSION).text(scope.list).byte(key.length)
  for (const part of key) writer.text(partToText(part))
  const signed = writer.raw(filterTag(scope, mac)).bytes()
  const cursor = Buffer.concat([signed, tagOf(signed, mac)]).toString('base64url')
  if (cursor.length > CURSOR_MAX) throw new RangeError('the sort key is too long for a cursor')
  return cursor
}

/**
 * The sort key; `invalid_cursor` for a cursor that is forged, cut, of another version or list, or made under other
 * filters.
 */
export function decodeCursor(text: unknown, scope: CursorScope, mac: Mac): Result<KeyPart[], 'invalid_cursor'> {
  const bytes = typeof text === 'string' && text.length <= CURSOR_MAX ? decodeBase64url(text) : null
  if (bytes === null || bytes.length < TAG_BYTES) return err('invalid_cursor')
  const signed = bytes.subarray(0, -TAG_BYTES)
  if (!sameBytes(bytes.subarray(-TAG_BYTES), tagOf(signed, mac))) return err('invalid_cursor')
  const key = readSigned(signed, scope, mac)
  return key === null ? err('invalid_cursor') : ok(key)
}

/** The signature is valid, so the layout is ours, but the version, list or filters may differ. */
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

/** The first byte separates the two uses of the key: a filter can never look like a signed cursor. */
function filterTag({ filters }: CursorScope, mac: Mac): Uint8Array {
  const sent = Object.entries(filters).filter(([, value]) => value !== undefined)
  const canonical = JSON.stringify(sent.sort(([a], [b]) => (a < b ? -1 : 1)))
  return cut(mac(Buffer.concat([Uint8Array.of(1), encoder.encode(canonical)])), FILTER_TAG_BYTES)
}

function tagOf(signed: Uint8Array, mac: Mac): Uint8Array {
  return cut(mac(Buffer.concat([Uint8Array.of(2), signed])), TAG_BYTES)
}

function cut(tag: Uint8Array, bytes: number): Uint8Array {
  if (tag.length < TAG_BYTES) throw new RangeError(`the keyed hash must give at least ${TAG_BYTES} bytes`)
  return tag.subarray(0, bytes)
}
