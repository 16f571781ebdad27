import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  checkStreamName,
  compilePattern,
  compileStreams,
  covers,
  PATTERN_CACHE_MAX,
} from '../../../src/core/access/streamName.ts'

const errorOf = (text: string): string => {
  const pattern = compilePattern(text)
  return pattern.ok ? '' : pattern.error
}

describe('checkStreamName', () => {
  it.each(['a', 'room/1', '.*', '...', '.a', './..', 'Zürich 🎥', 'x'.repeat(128), '🎥'.repeat(128)])(
    'accepts %j',
    (name) => expect(checkStreamName(name)).toBeNull(),
  )

  it.each([
    '',
    '.',
    '..',
    'x'.repeat(129),
    '🎥'.repeat(129),
    'a\0',
    'a\n',
    '\u001b',
    '\u007f',
    '\u0080',
    '\u009f',
    '\ud800',
    'a\udc00',
  ])('refuses %j', (name) => expect(checkStreamName(name)).toMatch(/^must /))
})

describe('names that no URL can have in its path', () => {
  it('are covered by no pattern, and stand in no list of names', () => {
    const any = compileStreams([{ streamName: '.*', isRegex: true }])
    if (!any.ok) throw new Error('not compiled')
    expect(['.', '..', '...'].map((name) => covers(any.value, name))).toEqual([false, false, true])
    for (const streamName of ['.', '..'])
      expect(compileStreams([{ streamName, isRegex: false }])).toMatchObject({ ok: false, error: [{ index: 0 }] })
  })

  it('are patterns that match other names', () => expect(errorOf('.') + errorOf('..')).toBe(''))
})

describe('compilePattern', () => {
  it.each([
    ['(?=a)b', /look-around.*character 1/],
    ['ab(?!c)', /look-around.*character 3/],
    ['(?<=a)b', /look-around.*character 1/],
    ['🎥(?<!a)', /look-around.*character 2/],
    ['(a)\\1', /back-references.*character 4/],
    ['\\k<n>', /back-references.*character 1/],
    ['a)|(b', /character 2: unexpected \)/],
    ['[)]\\))', /character 6: unexpected \)/],
    ['ab(', /character 4: missing closing \)/],
    ['ab[c', /character 3: missing closing \]/],
    ['a{5000}', /character 2: invalid repeat count/],
    ['*a', /character 1: missing argument/],
    ['a\\', /character 3: trailing backslash/],
    ['(?:.{0,30}){30}', /too costly/],
    ['', /1 to 128/],
    ['a'.repeat(129), /1 to 128/],
    ['a\u0000', /control/],
  ])('refuses %j and says what is wrong and where', (text, why) => expect(errorOf(text)).toMatch(why))

  it('matches the whole name, as an anchored pattern of the language would', () => {
    fc.assert(
      fc.property(
        simplePattern,
        fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 6, minLength: 1 }),
        (text, name) => {
          const pattern = compilePattern(text)
          if (pattern.ok) expect(pattern.value.matches(name)).toBe(new RegExp(`^(?:${text})$`, 'u').test(name))
        },
      ),
      { numRuns: 1000 },
    )
  })

  it('stays correct when more patterns are in use than fit the cache', () => {
    for (let i = 0; i < PATTERN_CACHE_MAX + 10; i++) compilePattern(`n${i}`)
    const first = compilePattern('n0')
    expect(first.ok && first.value.matches('n0') && !first.value.matches('n1')).toBe(true)
  })

  it('returns the same object while it is cached', () => expect(compilePattern('same')).toEqual(compilePattern('same')))
})

/** Patterns that mean the same to RE2 and to the language's own engine, anchors and alternations at every place. */
const { pattern: simplePattern } = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom('a', 'b', '.', '[ab]'),
    fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => a + b),
    fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `${a}|${b}`),
    fc.tuple(tie('pattern'), fc.constantFrom('*', '?', '+', '??', '*?', '{1,2}')).map(([a, q]) => `(?:${a})${q}`),
    tie('pattern').map((a) => `(${a})`),
    tie('pattern').map((a) => `^${a}`),
    tie('pattern').map((a) => `${a}$`),
  ),
}))

describe('compileStreams', () => {
  it('reports every invalid entry by its index', () => {
    const streams = compileStreams([
      { streamName: 'fine', isRegex: false },
      { streamName: '', isRegex: false },
      { streamName: '(', isRegex: true },
    ])
    expect(streams).toMatchObject({ ok: false, error: [{ index: 1 }, { index: 2 }] })
  })

  it('covers nothing without entries', () => {
    const streams = compileStreams([])
    expect(streams.ok && covers(streams.value, 'a')).toBe(false)
  })
})
