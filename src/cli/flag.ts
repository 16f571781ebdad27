import { quote } from '../base/quote.ts'
import { err, ok, type Result } from '../base/result.ts'

/** One flag or one positional argument: all facts for parsing, help and the reference. */
export interface CliFlag<T> {
  /** The placeholder for its value in help, such as `NAME`; empty for a switch without a value. */
  readonly placeholder: string
  readonly about: string
  readonly required: boolean
  /** Whether it may be repeated. */
  readonly many: boolean
  /** The default value, for help. */
  readonly default?: string
  /** Parses the texts as typed; there are none when it was omitted. The error is a predicate after the flag's name. */
  read(texts: readonly string[]): Result<T, string>
}

export type Flags = Readonly<Record<string, CliFlag<unknown>>>

/** The parsed values of a table of flags. */
export type ValuesOf<F extends Flags> = { readonly [name in keyof F]: F[name] extends CliFlag<infer T> ? T : never }

const optional = { required: false, many: false } as const

/** Optional text. */
export const textFlag = (placeholder: string, about: string): CliFlag<string | undefined> => ({
  ...optional,
  placeholder,
  about,
  read: ([given]) => ok(given),
})

/** Required text. */
export const required = (placeholder: string, about: string): CliFlag<string> => ({
  placeholder,
  about,
  required: true,
  many: false,
  read: ([given]) => (given === undefined ? err('is required') : ok(given)),
})

/** Text that may be repeated. */
export const texts = (placeholder: string, about: string): CliFlag<readonly string[]> => ({
  placeholder,
  about,
  required: false,
  many: true,
  read: ok,
})

/** True when it is present. */
export const toggleFlag = (about: string): CliFlag<boolean> => ({
  ...optional,
  placeholder: '',
  about,
  read: (given) => ok(given.length > 0),
})

interface Bounds {
  min?: number
  max?: number
}

/** An optional whole number. */
export const wholeFlag = (placeholder: string, about: string, bounds: Bounds = {}): CliFlag<number | undefined> => ({
  ...optional,
  placeholder,
  about,
  read: ([given]) => (given === undefined ? ok(undefined) : readWhole(given, bounds)),
})

/** A whole number with a default. */
export const wholeOr = (fallback: number, placeholder: string, about: string, bounds: Bounds): CliFlag<number> => ({
  ...optional,
  placeholder,
  about,
  default: String(fallback),
  read: ([given]) => (given === undefined ? ok(fallback) : readWhole(given, bounds)),
})

/** How long a list may be. */
export const mostEntries = (fallback: number, max: number): CliFlag<number> =>
  wholeOr(fallback, 'N', 'The most entries to list.', { min: 1, max })

/** A whole number, or a word for null. Undefined: it is not given. */
export const wholeOrWord = (
  word: string,
  about: string,
  { min, max }: { readonly min: number; readonly max: number },
): CliFlag<number | null | undefined> => ({
  ...optional,
  placeholder: `N|${word}`,
  about,
  read: ([given]) => {
    if (given === undefined || given === word) return ok(given === undefined ? undefined : null)
    const value = /^-?\d{1,10}$/.test(given) ? Number(given) : Number.NaN
    return value >= min && value <= max
      ? ok(value)
      : err(`must be ${word} or a whole number from ${min} to ${max}, not ${quote(given)}`)
  },
})

/** The id of a record: required, a whole number. */
export const id = (placeholder: string, about: string): CliFlag<number> => ({
  placeholder,
  about,
  required: true,
  many: false,
  read: ([given]) => (given === undefined ? err('is required') : readWhole(given, { min: 1 })),
})

/** One of several words, with a default. */
export const choiceFlag = <const W extends string>(words: readonly W[], fallback: W, about: string): CliFlag<W> => ({
  ...optional,
  placeholder: words.join('|'),
  about,
  default: fallback,
  read: ([given]) => (given === undefined ? ok(fallback) : oneOf(words, given)),
})

/** One of several words, optional. */
export const choiceOrNone = <const W extends string>(words: readonly W[], about: string): CliFlag<W | undefined> => ({
  ...optional,
  placeholder: words.join('|'),
  about,
  read: ([given]) => (given === undefined ? ok(undefined) : oneOf(words, given)),
})

/** One of several words, required. */
export const requiredChoice = <const W extends string>(words: readonly W[], about: string): CliFlag<W> => ({
  placeholder: words.join('|'),
  about,
  required: true,
  many: false,
  read: ([given]) => (given === undefined ? err('is required') : oneOf(words, given)),
})

function oneOf<W extends string>(words: readonly W[], given: string): Result<W, string> {
  const word = words.find((w) => w.toLowerCase() === given.toLowerCase())
  return word === undefined ? err(`must be ${words.join(' or ')}, not ${quote(given)}`) : ok(word)
}

function readWhole(given: string, { min = 0, max = Number.MAX_SAFE_INTEGER }: Bounds): Result<number, string> {
  const value = /^\d{1,16}$/.test(given) ? Number(given) : Number.NaN
  if (value >= min && value <= max) return ok(value)
  const range = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`
  return err(`must be a whole number ${range}, not ${quote(given)}`)
}

/** The argument of commands on one channel. */
export const CHANNEL_ID = required('ID', 'The id of the channel, as `sluice channel list` shows it.')

/** The values that were given. */
export const given = <V>(values: Readonly<Record<string, V | undefined>>): Record<string, V> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Record<string, V>
