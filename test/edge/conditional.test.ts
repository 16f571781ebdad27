import { expect, test } from 'vitest'
import { hasVersion } from '../../src/edge/http/conditional.ts'

test.each([
  ['"a"', true],
  ['"b", "a"', true],
  ['W/"a"', true],
  ['"b",W/"a" ', true],
  ['*', true],
  ['"b"', false],
  ['a', false],
  ['W/"b", "aa"', false],
  ['', false],
  [undefined, false],
])('If-None-Match: %s has the version "a": %s', (header, has) => {
  expect(hasVersion({ headers: { 'if-none-match': header } }, '"a"')).toBe(has)
})
