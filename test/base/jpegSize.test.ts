import { expect, test } from 'vitest'
import { jpegSize } from '../../src/base/jpegSize.ts'

const bytes = (hex: string): Uint8Array => Buffer.from(hex.replaceAll(' ', ''), 'hex')
const FRAME = 'ffc2 000b 08 00b4 0140 010111'

test('the size of a picture is in the header of its frame, behind any other segments and fill bytes', () => {
  const size = { width: 320, height: 180 }
  expect(jpegSize(bytes(`ffd8 ${FRAME}`))).toEqual(size)
  expect(jpegSize(bytes(`ffd8 ffe0 0004 4a46 ffc4 0003 00 ffff ${FRAME}`))).toEqual(size)
})

test('what is cut short or no JPEG has none', () => {
  const whole = bytes(`ffd8 ffe0 0004 4a46 ${FRAME}`)
  for (let length = 0; length < 17; length++) expect(jpegSize(whole.subarray(0, length))).toBeNull()
  for (const other of ['8950 4e47', 'ffd8 0000 0000 0000 0000 0000', 'ffd8 ffe0 0000 ffe0 0000', 'ffd8 ffda 0002'])
    expect(jpegSize(bytes(other))).toBeNull()
})
