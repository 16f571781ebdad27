import { type RawBuilder, sql } from 'kysely'

/** A pattern of `like … escape '\'` for what has this text in it. */
export const containing = (text: string): string => `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`

/**
 * True where a column has this text in it, in any case of ASCII: both databases fold only that, because they compare text
 * by its bytes. No index serves it.
 */
export function containsText(column: string, text: string): RawBuilder<boolean> {
  const lower = text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
  return sql<boolean>`lower(${sql.ref(column)}) like ${containing(lower)} escape '\\'`
}
