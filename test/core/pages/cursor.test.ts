import { createHmac } from 'node:crypto'
import { describe, expect, it, test } from 'vitest'
import { type CursorScope, decodeCursor, encodeCursor, type KeyPart } from '../../../src/core/pages/cursor.ts'

const macWith = (key: string) => (data: Uint8Array) => new Uint8Array(createHmac('sha256', key).update(data).digest())
const mac = macWith('key')
const scope: CursorScope = { list: 'channels', filters: { account: 'a1b2c3', status: 'playing' } }
const key: KeyPart[] = [1_750_000_000_000, 'ch_1234567890123456789012']
const refused = { ok: false, error: 'invalid_cursor' }

describe('a cursor', () => {
  it('returns the sort key', () => {
    expect(decodeCursor(encodeCursor(scope, key, mac), scope, mac)).toEqual({ ok: true, value: key })
  })

  it('is short and safe in a URL for the usual key', () => {
    expect(encodeCursor(scope, key, mac)).toMatch(/^[\w-]{1,128}$/)
  })

  it('takes a sort key with the longest name', () => {
    const long: KeyPart[] = ['🎥'.repeat(128), 'di_1234567890123456789012']
    expect(decodeCursor(encodeCursor(scope, long, mac), scope, mac)).toEqual({ ok: true, value: long })
  })

  it('does not depend on the order of filters, nor on those that are unset', () => {
    const same: CursorScope = { list: 'channels', filters: { status: 'playing', search: undefined, account: 'a1b2c3' } }
    expect(decodeCursor(encodeCursor(scope, key, mac), same, mac).ok).toBe(true)
  })

  test.each<[string, CursorScope]>([
    ['another list', { ...scope, list: 'ingests' }],
    ['another filter value', { ...scope, filters: { account: 'a1b2c3', status: 'stopped' } }],
    ['one filter less', { ...scope, filters: { account: 'a1b2c3' } }],
    ['one filter more', { ...scope, filters: { ...scope.filters, search: 'x' } }],
    ['another account', { ...scope, filters: { account: 'zzzzzz', status: 'playing' } }],
    ['a filter of another type', { ...scope, filters: { account: 'a1b2c3', status: true } }],
  ])('is refused for %s', (_, other) => {
    expect(decodeCursor(encodeCursor(scope, key, mac), other, mac)).toEqual(refused)
  })

  it('is refused under another key', () => {
    expect(decodeCursor(encodeCursor(scope, key, mac), scope, macWith('other'))).toEqual(refused)
  })

  it('is refused when any one character is changed, or it is cut anywhere', () => {
    const cursor = encodeCursor(scope, key, mac)
    for (let at = 0; at < cursor.length; at++) {
      const changed = `${cursor.slice(0, at)}${cursor[at] === 'A' ? 'B' : 'A'}${cursor.slice(at + 1)}`
      expect(decodeCursor(changed, scope, mac)).toEqual(refused)
      expect(decodeCursor(cursor.slice(0, at), scope, mac)).toEqual(refused)
    }
  })

  it('is refused when it is of another version, though its signature is valid', () => {
    const bytes = Buffer.from(encodeCursor(scope, key, mac), 'base64url').subarray(0, -12)
    bytes[0] = 2
    const tag = mac(Buffer.concat([Buffer.of(2), bytes])).subarray(0, 12)
    expect(decodeCursor(Buffer.concat([bytes, tag]).toString('base64url'), scope, mac)).toEqual(refused)
    bytes[0] = 1
    const again = mac(Buffer.concat([Buffer.of(2), bytes])).subarray(0, 12)
    expect(decodeCursor(Buffer.concat([bytes, again]).toString('base64url'), scope, mac).ok).toBe(true)
  })

  test.each([undefined, null, 5, '', ' ', 'null', '====', ['a'], 'A'.repeat(5000), 'ünï'])('is never %j', (text) => {
    expect(decodeCursor(text, scope, mac)).toEqual(refused)
  })

  it('has one spelling only', () => {
    const cursor = encodeCursor(scope, key, mac)
    for (const other of [`${cursor}=`, ` ${cursor}`, `${cursor}\n`]) {
      expect(decodeCursor(other, scope, mac)).toEqual(refused)
    }
  })

  it('distinguishes parts that look alike when joined', () => {
    const cursors = [['a', 'bc'], ['ab', 'c'], ['abc'], ['1'], [1], [null], ['']].map((k) =>
      encodeCursor(scope, k, mac),
    )
    expect(new Set(cursors).size).toBe(cursors.length)
  })

  test.each<[string, KeyPart[]]>([
    ['too many parts', [1, 2, 3, 4, 5]],
    ['a fraction', [1.5]],
    ['an unsafe integer', [2 ** 53]],
    ['a very long text', ['x'.repeat(2000)]],
    ['half of a surrogate pair', ['\ud800']],
  ])('throws for a key with %s: that is our own fault', (_, bad) => {
    expect(() => encodeCursor(scope, bad, mac)).toThrow(RangeError)
  })

  it('is not signed with a keyed hash that is too short', () => {
    expect(() => encodeCursor(scope, key, () => new Uint8Array(8))).toThrow(RangeError)
  })
})
