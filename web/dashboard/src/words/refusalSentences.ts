type Table = Readonly<Record<string, string>>

/**
 * Says a refusal in the words of `table`, which has sentences of the server with `{name}` for values; as it came where it lacks
 * it. A value that is a sentence of the table is said in its words too: it is shorter than the sentence around it, so that this
 * ends. English pages need none of it, so that this file is loaded with those of other languages alone.
 */
export function sayRefusalIn(table: Table): (error: string) => string {
  const sentences = Object.entries(table).map(([english, own]) => [patternOf(english), own] as const)
  return function say(error): string {
    for (const [pattern, own] of sentences) {
      const values = pattern.exec(error)
      if (values) return own.replaceAll(/\{(\w+)\}/g, (_all, name: string) => say(values.groups?.[name] ?? ''))
    }
    return error
  }
}

/** `must not use port {port}`, as an expression with a group for each name. */
const patternOf = (english: string): RegExp =>
  new RegExp(
    `^${english.replaceAll(/[.*+?^$()[\]\\|/]/g, String.raw`\$&`).replaceAll(/\{(\w+)\}/g, '(?<$1>.+?)')}$`,
    's',
  )
