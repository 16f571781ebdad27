/** One element of a token's streams: a name, or a pattern that must match the whole name. */
export interface StreamEntry {
  readonly streamName: string
  readonly isRegex: boolean
}

/** Reads what a person typed: a text between slashes is a pattern. */
function readEntry(typed: string): StreamEntry {
  const isRegex = typed.length >= 2 && typed.startsWith('/') && typed.endsWith('/')
  return { streamName: isRegex ? typed.slice(1, -1) : typed, isRegex }
}

/**
 * Splits what a person typed or pasted. Names are separated by commas; a pattern may contain commas, so a text that
 * begins with a slash goes to the next slash before a comma.
 */
export function readEntries(typed: string): StreamEntry[] {
  const parts = typed.match(/\s*(\/.*?\/(?=\s*(,|$))|[^,]+)/g) ?? []
  return parts
    .map((part) => part.trim())
    .filter(Boolean)
    .map(readEntry)
}

/** The first exact name of a token; addresses are shown for it. */
export const firstName = (streams: readonly StreamEntry[]): string | undefined =>
  streams.find(({ isRegex }) => !isRegex)?.streamName
