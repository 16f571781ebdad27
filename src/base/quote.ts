/** Text of a user for a message: quoted, on one line and short. */
export const quote = (given: string): string =>
  visibleJson(JSON.stringify(given.length > 60 ? `${given.slice(0, 60)}…` : given))

/** A word of a command that a person copies into a shell. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

/**
 * Escapes the characters that JSON lets through although they control a terminal or the direction of text, such as C1 controls
 * (ECMA-48), of which one alone begins a sequence. The values stay the same.
 */
export const visibleJson = (json: string): string =>
  json.replace(/[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu, (odd) =>
    Array.from({ length: odd.length }, (_, at) => `\\u${odd.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  )
