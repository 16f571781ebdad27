import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { amfObject, type AmfValue, decodeAmf, encodeAmf } from '../../../src/media/rtmp/amf0.ts'

const { value } = fc.letrec<{ value: AmfValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.double(),
    fc.boolean(),
    fc.string(),
    fc.constant(null),
    fc.constant(undefined),
    fc.date({ noInvalidDate: true }),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.string({ minLength: 1 }), tie('value'), { maxKeys: 4 }).map((object) => amfObject({ ...object })),
  ),
}))

const decoded = (hex: string) => decodeAmf(Buffer.from(hex.replaceAll(' ', ''), 'hex'))

describe('AMF0', () => {
  test('reads back the values that were written', () => {
    fc.assert(
      fc.property(fc.array(value, { maxLength: 6 }), (values) => {
        expect(decodeAmf(encodeAmf(values))).toEqual({ ok: true, value: values })
      }),
      { numRuns: 500 },
    )
  })

  test('reads what publishers write: long strings, arrays with wrong counts, typed objects, dates, null', () => {
    const long = 'x'.repeat(70_000)
    expect(decodeAmf(encodeAmf([long]))).toEqual({ ok: true, value: [long] })
    expect(decoded('08 00000063 0001 61 05 0000 09')).toEqual({ ok: true, value: [new Map([['a', null]])] })
    expect(decoded('10 0002 7878 0001 61 0101 0000 09')).toEqual({ ok: true, value: [new Map([['a', true]])] })
    expect(decoded('0b 0000000000000000 0000')).toEqual({ ok: true, value: [new Date(0)] })
    expect(decoded('')).toEqual({ ok: true, value: [] })
  })

  test('reads names of JavaScript built-ins as plain properties', () => {
    const object = new Map<string, AmfValue>([
      ['__proto__', 1],
      ['constructor', 2],
    ])
    expect(decodeAmf(encodeAmf([object]))).toEqual({ ok: true, value: [object] })
  })

  test.each([
    ['a number that is cut short', '00 4000', 'AMF0 data is cut short'],
    ['a string that is longer than the message', '02 ffff 61', 'AMF0 data is cut short'],
    ['an object without an end', '03 0001 61 05', 'AMF0 data is cut short'],
    ['an array that only claims to be long', '0a ffffffff', 'AMF0 data is cut short'],
    ['a reference', '07 0000', 'AMF0 type 7 is unknown'],
    ['AMF3', '11 00', 'AMF0 type 17 is unknown'],
  ])('refuses %s', (_, hex, error) => {
    expect(decoded(hex)).toEqual({ ok: false, error })
  })

  test('refuses values that are too deep or too many', () => {
    expect(decoded('0a00000001'.repeat(20) + '05')).toEqual({
      ok: false,
      error: 'AMF0 values are nested more than 8 deep',
    })
    expect(decoded('05'.repeat(1025))).toEqual({ ok: false, error: 'more than 1024 AMF0 values' })
    expect(decoded('0a0000ffff' + '05'.repeat(5000))).toMatchObject({ ok: false })
  })
})
