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

  it('returns the value only when there are none', () => {
    const problems = new Problems()
    expect(problems.settle(5)).toEqual({ ok: true, value: 5 })
    problems.add('a', 'one')
    problems.add('a', 'two')
    expect(problems.settle(5)).toEqual({ ok: false, error: { a: ['one', 'two'] } })
  })
})

describe('the closest name', () => {
  const names = ['label', 'allowedOrigins', 'drm', 'clip']
  test.each([
    ['lable', 'label'],
    ['LABEL', 'label'],
    ['alowedOrigin', 'allowedOrigins'],
    ['update_allowed_origins', 'allowedOrigins'],
    ['dr', 'drm'],
    ['d', null],
    ['table_of_contents', null],
    ['x'.repeat(100_000), null],
  ])('to %s is %s', (name, expected) => {
    expect(closest(name, names)).toBe(expected)
  })
})
