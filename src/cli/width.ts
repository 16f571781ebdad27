const PLAIN = /^[\x20-\x7e]*$/

/** East Asian Wide and Fullwidth (UAX #11), and what is shown as a picture by itself or by the selector U+FE0F. */
const WIDE = new RegExp(
  [
    '^[\\u1100-\\u115f\\u2e80-\\u303e\\u3041-\\ua4cf\\ua960-\\ua97c\\uac00-\\ud7a3\\uf900-\\ufaff\\ufe10-\\ufe19',
    '\\ufe30-\\ufe6f\\uff01-\\uff60\\uffe0-\\uffe6\\u{16fe0}-\\u{18d08}\\u{1b000}-\\u{1b2ff}\\u{1f200}-\\u{1f265}',
    '\\u{20000}-\\u{3fffd}\\p{Emoji_Presentation}]|\\ufe0f',
  ].join(''),
  'u',
)

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

const widthOfGrapheme = (grapheme: string): number => (WIDE.test(grapheme) ? 2 : 1)

/** The number of columns of a terminal that a text without control characters takes. */
export function widthOf(text: string): number {
  if (PLAIN.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += widthOfGrapheme(segment)
  return width
}

/** The text in at most `width` columns, with an ellipsis where it was cut. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let head = ''
  let left = width - 1
  for (const { segment } of graphemes.segment(text)) {
    left -= widthOfGrapheme(segment)
    if (left < 0) break
    head += segment
  }
  return width < 1 ? '' : `${head}…`
}

/** The text in exactly `width` columns: cut, or with spaces behind it. */
export function fill(text: string, width: number): string {
  const shown = cut(text, width)
  return shown + ' '.repeat(Math.max(0, width - widthOf(shown)))
}

/** Lines of whole words, each behind the indent, and at most `columns` wide unless a word is wider. */
export function wrapped(text: string, columns: number, indent: string): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const joined = `${lines.at(-1) ?? ''} ${word}`
    if (lines.length === 0 || widthOf(joined) > columns) lines.push(`${indent}${word}`)
    else lines[lines.length - 1] = joined
  }
  return lines
}

/** The lines of a text, folded at blanks. What is indented stays so. */
export function folded(text: string, columns: number): string {
  const lines = text.split('\n').flatMap((line) => {
    const words = line.trimStart()
    return wrapped(words, columns, line.slice(0, line.length - words.length))
  })
  return lines.join('\n')
}
