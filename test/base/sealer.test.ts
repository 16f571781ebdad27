import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { systemRandom } from '../../src/base/random.ts'
import { Sealer } from '../../src/base/sealer.ts'

const key = () => systemRandom.bytes(32)
const sealer = new Sealer([key()], systemRandom)

describe('a sealed value', () => {
  test('opens to what was sealed, and only in its own context', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200, size: 'max' }), fc.string(), fc.string(), (plain, context, other) => {
        const sealed = sealer.seal(plain, context)
        expect(sealer.open(sealed, context)).toEqual({ ok: true, value: Buffer.from(plain) })
        if (other !== context) expect(sealer.open(sealed, other)).toEqual({ ok: false, error: 'damaged' })
      }),
    )
  })

  test('does not open once any bit of it is changed or its end is cut', () => {
    const sealed = sealer.seal('secret', 'token:value')
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const changed = Uint8Array.from(sealed)
      changed[bit >> 3]! ^= 1 << (bit & 7)
      expect(sealer.open(changed, 'token:value').ok).toBe(false)
    }
    for (let length = 0; length < sealed.length; length++) {
      expect(sealer.open(sealed.subarray(0, length), 'token:value').ok).toBe(false)
    }
  })

  test('never looks the same twice', () => {
    expect(sealer.seal('same', 'c')).not.toEqual(sealer.seal('same', 'c'))
  })

  test('is read from a view into a larger buffer, as databases return it', () => {
    const sealed = sealer.seal('secret', 'c')
    const larger = new Uint8Array(sealed.length + 20)
    larger.set(sealed, 7)
    expect(sealer.open(larger.subarray(7, 7 + sealed.length), 'c')).toMatchObject({ ok: true })
  })
})

describe('several keys', () => {
  const [old, fresh] = [key(), key()]

  test('all open; the first one seals', () => {
    const before = new Sealer([old], systemRandom)
    const during = new Sealer([fresh, old], systemRandom)
    expect(during.open(before.seal('a', 'c'), 'c').ok).toBe(true)
    expect(new Sealer([fresh], systemRandom).open(during.seal('a', 'c'), 'c').ok).toBe(true)
    expect(during.keyId).not.toBe(before.keyId)
  })

  test('a missing key is distinguished from damage', () => {
    const sealed = new Sealer([old], systemRandom).seal('a', 'c')
    expect(new Sealer([fresh], systemRandom).open(sealed, 'c')).toEqual({ ok: false, error: 'unknown-key' })
  })

  test('no key, or a key of another length, throws', () => {
    expect(() => new Sealer([], systemRandom)).toThrow('needs a key')
    expect(() => new Sealer([systemRandom.bytes(16)], systemRandom)).toThrow('32 bytes')
  })
})
