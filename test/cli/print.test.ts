import { describe, expect, it } from 'vitest'
import { fields, table } from '../../src/cli/print.ts'

describe('table', () => {
  it('aligns columns and leaves no spaces at the end of a line', () => {
    expect(
      table(
        ['id', 'name'],
        [
          ['1', 'a'],
          ['100', 'long name'],
        ],
      ),
    ).toBe('id   name\n1    a\n100  long name')
  })

  it('shows control and direction characters of foreign text as replacement characters', () => {
    expect(table(['name'], [['a\u001b[2Jb\u202ec\nd']])).toBe('name\na\uFFFD[2Jb\uFFFDc\uFFFDd')
    expect(fields({ label: 'a\u001bb' })).toBe('label  a\uFFFDb')
  })
})

describe('fields', () => {
  it('leaves out empty values and joins lists', () => {
    expect(fields({ id: 7, none: [], gone: undefined, origins: ['a', 'b'] })).toBe('id       7\norigins  a, b')
  })
})
