import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { literalPrefix } from '../../../src/core/access/literalPrefix.ts'
import { compilePattern } from '../../../src/core/access/streamName.ts'

test.each([
  ['user-17-[a-z]+', 'user-17-'],
  ['^user-17$', 'user-17'],
  ['studio', 'studio'],
  ['ab*', 'a'],
  ['ab+', 'a'],
  ['ab{0,2}', 'a'],
  ['a😀?', 'a'],
  ['*', ''],
  ['a|b', ''],
  ['(?i)Studio', ''],
  ['.*', ''],
  ['a\\.b', 'a'],
  ['ab(?i)?c', 'a'],
  ['ab(?i)(?s)*c', 'a'],
  ['ab\\Q\\E?c', 'a'],
])('%s begins with "%s"', (pattern, prefix) => {
  expect(literalPrefix(pattern)).toBe(prefix)
})

test('every name that a pattern matches begins with its prefix', () => {
  const part = fc.constantFrom(
    'a',
    'b',
    '^',
    '$',
    '*',
    '?',
    '+',
    '|',
    '(',
    ')',
    '.',
    '[ab]',
    '{0,1}',
    '\\Q',
    '\\Qa',
    '\\E',
    '(?i)',
    '(?s-i:',
    '(?P<n>',
    '{0}',
    '{2,}',
    '{,2}',
    '??',
    '[^a]',
    '\\b',
    '\\pL',
    '\\x61',
    '[[:alpha:]]',
    'é',
    '🎥',
  )
  const text = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''))
  const name = fc.string({
    minLength: 1,
    maxLength: 4,
    unit: fc.constantFrom('a', 'b', 'A', '*', 'é', '🎥', '{', '}', ',', '2'),
  })
  fc.assert(
    fc.property(text, name, (pattern, streamName) => {
      const compiled = compilePattern(pattern)
      if (compiled.ok && compiled.value.matches(streamName))
        expect([pattern, streamName.startsWith(literalPrefix(pattern))]).toEqual([pattern, true])
    }),
    { numRuns: 3000 },
  )
})
