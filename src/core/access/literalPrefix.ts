/** Characters that mean more than themselves in an RE2 pattern. */
const SPECIAL = new Set('\\.+*?()[]{}|^$')
/**
 * What makes the character before it optional or repeats it: a quantifier, also one after flags or an empty quotation, which RE2 passes
 * over.
 */
const REPEATS = /^(?:[*+?{]|\(\?|\\[QE])/

/**
 * Text that every name begins with which the RE2 pattern matches as a whole; may be shorter than possible, or empty. Costs
 * far less than to compile the pattern.
 */
export function literalPrefix(pattern: string): string {
  // An alternative may begin with something else.
  if (pattern.includes('|')) return ''
  const characters = Array.from(pattern.startsWith('^') ? pattern.slice(1) : pattern)
  const end = characters.findIndex((character) => SPECIAL.has(character))
  if (end < 0) return characters.join('')
  const repeatsLast = REPEATS.test(characters.slice(end, end + 2).join(''))
  return characters.slice(0, repeatsLast ? Math.max(0, end - 1) : end).join('')
}
