import { describe, expect, it, test } from 'vitest'
import { PartReader, PartWriter } from '../../../src/core/pages/bytes.ts'

describe('parts', () => {
  it('are read as they were written, including a byte order mark', () => {
    const bytes = new PartWriter().byte(7).text('\ufeffa').text('').raw(Uint8Array.of(1, 2)).bytes()
    const reader = new PartReader(bytes)
    expect([reader.byte(), reader.text(), reader.text(), [...reader.rest()]]).toEqual([7, '\ufeffa', '', [1, 2]])
  })

  test.each([
    ['an end too early', [0, 2, 97]],
    ['half a length', [0]],
    ['bytes that are no UTF-8', [0, 1, 0xff]],
  ])('are not read from %s', (_, bytes) => {
    expect(new PartReader(Uint8Array.from(bytes)).text()).toBeNull()
  })
})
