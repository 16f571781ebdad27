/**
 * A rule of the validator: V1 to V8 concern one playlist, V9 to V16 successive ones, V17 to V22 the media, V23 to V25 the
 * answers over HTTP. `strict` is hls-parser in its strict mode, `answer` a request without a usable answer. Of the numbers
 * that are missing, V7 is held by hls-parser, and V5 and V15 were about delta updates, which Sluice does not make.
 */
export type Rule =
  | `V${1 | 2 | 3 | 4 | 6 | 8 | 9}`
  | `V1${0 | 1 | 2 | 3 | 4 | 6 | 7 | 8 | 9}`
  | `V2${0 | 1 | 2 | 3 | 4 | 5}`
  | 'strict'
  | 'answer'

/** A broken rule. */
export interface Violation {
  readonly rule: Rule
  /** The rendition and the segment, part, tag or header in it. */
  readonly where: string
  readonly expected: string
  readonly found: string
}

/** One violation when `holds` is false, otherwise none. */
export const unless = (
  holds: boolean,
  rule: Rule,
  where: string,
  expected: string,
  found: string | number | null | undefined,
): Violation[] => (holds ? [] : [{ rule, where, expected, found: String(found ?? 'nothing') }])

/** A line for people. */
export const lineOf = ({ rule, where, expected, found }: Violation): string =>
  `${rule} ${where}: expected ${expected}, found ${found}`

/** Seconds in a message. */
export const inSeconds = (seconds: number): string => `${Number(seconds.toFixed(6))} s`

/** The broken rules, each once. */
export const rulesOf = (violations: readonly Violation[]): Rule[] => [...new Set(violations.map(({ rule }) => rule))]
