import { expect, it } from 'vitest'
import { cut, fill, widthOf } from '../../src/cli/width.ts'

it.each([
  ['', 0],
  ['plain', 5],
  ['naïve', 5],
  ['nai\u0308ve', 5],
  ['東京', 4],
  ['한국어', 6],
  ['ﾊﾝｶｸ', 4],
  ['ＡＢ', 4],
  ['📺', 2],
  ['🇳🇱', 2],
  ['❤\uFE0F', 2],
  ['👍🏽', 2],
  ['…', 1],
  ['𠀀', 2],
])('%s takes %d columns', (text, width) => {
  expect(widthOf(text)).toBe(width)
})

it('a text is cut before the character that does not fit, and filled up to the column', () => {
  expect(cut('東京スタジオ', 12)).toBe('東京スタジオ')
  expect(cut('東京スタジオ', 6)).toBe('東京…')
  expect([cut('abc', 2), cut('abc', 1), cut('abc', 0)]).toEqual(['a…', '…', ''])
  expect(cut('👍🏽👍🏽', 3)).toBe('👍🏽…')
  expect([fill('東京', 6), fill('東京スタジオ', 6)]).toEqual(['東京  ', '東京… '])
})
