import { describe, expect, it, test } from 'vitest'
import { pageOf, readLimit } from '../../../src/core/pages/page.ts'

describe('limit', () => {
  test.each([
    [undefined, 20],
    ['1', 1],
    ['20', 20],
    ['100', 100],
  ])('%j is %d', (text, expected) => {
    expect(readLimit(text)).toEqual({ ok: true, value: expected })
  })

  test.each(['0', '101', '-1', '1.5', '1e1', '', ' 5', '05', 'all', ['5', '6'], 5, null])('%j is refused', (text) => {
    const limit = readLimit(text)
    expect(limit.ok ? '' : limit.error).toContain('from 1 to 100')
  })
})

describe('a page', () => {
  test.each([
    [[], [], false, null],
    [[1], [1], false, null],
    [[1, 2], [1, 2], false, null],
    [[1, 2, 3], [1, 2], true, 'key 2'],
  ])('of %j, two at a time', (rows, data, hasMore, last) => {
    expect(pageOf(rows, 2, (row) => `key ${row}`)).toEqual({ data, hasMore, last })
  })

  it('walks everything once', () => {
    const rows = Array.from({ length: 47 }, (_, i) => i)
    const seen: number[] = []
    let after: number | null = -1
    while (after !== null) {
      const from: number = after
      const page: { data: number[]; last: number | null } = pageOf(
        rows.filter((row) => row > from).slice(0, 11),
        10,
        (row) => row,
      )
      seen.push(...page.data)
      after = page.last
    }
    expect(seen).toEqual(rows)
  })
})
