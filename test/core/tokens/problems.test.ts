import { describe, expect, it, test } from 'vitest'
import { Problems, shown } from '../../../src/core/validation/problems.ts'
import { closest } from '../../../src/core/validation/suggest.ts'

describe('text from outside', () => {
  test.each([
    ['plain', 'plain'],
    ['a\u001b[31mb', 'a\uFFFD[31mb'],
    ['a\u202eb\u2028c\ufeff', 'a\uFFFDb\uFFFDc\uFFFD'],
    ['half \ud83c', 'half \uFFFD'],
    ['🎥', '🎥'],
  ])('%j is shown as %j', (text, expected) => {
    expect(shown(text)).toBe(expected)
  })

  it('is cut at 64 characters without splitting one', () => {
    expect(shown('x'.repeat(64))).toBe('x'.repeat(64))
    expect(shown('x'.repeat(65))).toBe(`${'x'.repeat(63)}…`)
    expect(shown(`${'x'.repeat(62)}🎥🎥`)).toBe(`${'x'.repeat(62)}…`)
  })
})

describe('problems', () => {
  it('knows which paths and which parents of paths have problems', () => {
    const problems = new Problems()
    problems.add('streams[0].streamName', 'is bad')
    expect(problems.has('streams[0].streamName')).toBe(true)
    expect(problems.has('streams[0]')).toBe(false)
    expect(problems.touches('streams[0]')).toBe(true)
    expect(problems.touches('streams')).toBe(true)
    expect(problems.touches('streams[1]')).toBe(false)
  })

  it('does not build messages beyond the bound', () => {
    const problems = new Problems()
    let made = 0
    for (let i = 0; i < 1000; i++) problems.add(`p${i}`, () => `message ${++made}`)
    expect(made).toBe(100)
  })

  it('counts what is beyond the bound', () => {
    const problems = new Problems()
    const errors = () => {
      const settled = problems.settle(null)
      return settled.ok ? {} : settled.error
    }
    for (let i = 0; i < 100; i++) problems.add(`p${i}`, 'is bad')
    expect(Object.keys(errors())).toHaveLength(100)
    expect(errors()).not.toHaveProperty('more')
    problems.add('q', 'is bad')
    expect(errors()).toMatchObject({ more: ['and 1 more'] })
  })

  it('cuts long messages and long paths', () => {
    const problems = new Problems()
    for (const length of [80, 81]) problems.add('p'.repeat(length), 'm'.repeat(length + 220))
    const settled = problems.settle(null)
    expect(settled.ok ? [] : Object.entries(settled.error)).toEqual([
      ['p'.repeat(80), ['m'.repeat(300)]],
      [`${'p'.repeat(63)}…`, [`${'m'.repeat(299)}…`]],
    ])
  })

  it('returns the value only when there are none', () => {
    const problems = new Problems()
    expect(problems.settle(5)).toEqual({ ok: true, value: 5 })
    problems.add('a', 'one')
    problems.add('a', 'two')
    expect(problems.settle(5)).toEqual({ ok: false, error: { a: ['one', 'two'] } })
  })
})

describe('the closest name', () => {
  const names = ['label', 'allowedOrigins', 'drm', 'clip', 'n'.repeat(64)]
  test.each([
    ['lable', 'label'],
    ['LABEL', 'label'],
    ['alowedOrigin', 'allowedOrigins'],
    ['update_allowed_origins', 'allowedOrigins'],
    ['dr', 'drm'],
    ['dxx', null],
    ['clxx', 'clip'],
    ['cxxx', null],
    ['labelxx', 'label'],
    [`${'n'.repeat(63)}x`, 'n'.repeat(64)],
    [`${'n'.repeat(64)}x`, null],
    ['d', null],
    ['table_of_contents', null],
    ['x'.repeat(100_000), null],
  ])('to %s is %s', (name, expected) => {
    expect(closest(name, names)).toBe(expected)
  })

  test('may have one letter', () => expect(closest('A', ['b', 'a'])).toBe('a'))
})
