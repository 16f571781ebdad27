import { quote } from '../base/quote.ts'
import { err, ok, type Result } from '../base/result.ts'

/** One flag, or one word after the command: everything that parsing, help and the reference need to know of it. */
export interface CliFlag<T> {
  /** What stands for its value in help, such as `NAME`; empty for a switch, which has none. */
  readonly placeholder: string
  readonly about: string
  readonly required: boolean
  /** May be given more than once. */
  readonly many: boolean
  /** What holds when it is not given, as help shows it. */
  readonly default?: string
  /** From the texts as typed, none when it was not given. The error follows the flag's name. */
  read(texts: readonly string[]): Result<T, string>
}

export type Flags = Readonly<Record<string, CliFlag<unknown>>>

/** The values that a table of flags reads. */
export type ValuesOf<F extends Flags> = { readonly [name in keyof F]: F[name] extends CliFlag<infer T> ? T : never }

const optional = { required: false, many: false } as const

/** Text that may be left out. */
export const textFlag = (placeholder: string, about: string): CliFlag<string | undefined> => ({
  ...optional,
  placeholder,
  about,
  read: ([given]) => ok(given),
})

/** Text without which the command makes no sense. */
export const required = (placeholder: string, about: string): CliFlag<string> => ({
  placeholder,
  about,
  required: true,
  many: false,
  read: ([given]) => (given === undefined ? err('is required') : ok(given)),
})

/** Text that may be given several times. */
export const texts = (placeholder: string, about: string): CliFlag<readonly string[]> => ({
  placeholder,
  about,
  required: false,
  many: true,
  read: ok,
})

/** On when it is there. */
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

/** A whole number that may be left out. */
export const wholeFlag = (placeholder: string, about: string, bounds: Bounds = {}): CliFlag<number | undefined> => ({
  ...optional,
  placeholder,
  about,
  read: ([given]) => (given === undefined ? ok(undefined) : readWhole(given, bounds)),
})

/** A whole number with a default. */
export const wholeOr = (
  fallback: number,
  placeholder: string,
  about: string,
  bounds: Bounds = {},
): CliFlag<number> => ({
  ...optional,
  placeholder,
  about,
  default: String(fallback),
  read: ([given]) => (given === undefined ? ok(fallback) : readWhole(given, bounds)),
})

/** The id of a record: required, a whole number. */
export const id = (placeholder: string, about: string): CliFlag<number> => ({
  placeholder,
  about,
  required: true,
  many: false,
  read: ([given]) => (given === undefined ? err('is required') : readWhole(given, { min: 1 })),
})

/** One word out of a few, with a default. */
export const choiceFlag = <const W extends string>(words: readonly W[], fallback: W, about: string): CliFlag<W> => ({
  ...optional,
  placeholder: words.join('|'),
  about,
  default: fallback,
  read: ([given]) => (given === undefined ? ok(fallback) : oneOf(words, given)),
})

/** One word out of a few, or nothing. */
export const choiceOrNone = <const W extends string>(words: readonly W[], about: string): CliFlag<W | undefined> => ({
  ...optional,
  placeholder: words.join('|'),
  about,
  read: ([given]) => (given === undefined ? ok(undefined) : oneOf(words, given)),
})

/** One word out of a few, and it must be said. */
export const requiredChoice = <const W extends string>(words: readonly W[], about: string): CliFlag<W> => ({
  placeholder: words.join('|'),
  about,
  required: true,
  many: false,
  read: ([given]) => (given === undefined ? err('is required') : oneOf(words, given)),
})

function oneOf<W extends string>(words: readonly W[], given: string): Result<W, string> {
  const word = words.find((w) => w === given)
  return word === undefined ? err(`must be ${words.join(' or ')}, not ${quote(given)}`) : ok(word)
}

function readWhole(given: string, { min = 0, max = Number.MAX_SAFE_INTEGER }: Bounds): Result<number, string> {
  const value = /^\d{1,16}$/.test(given) ? Number(given) : Number.NaN
  if (value >= min && value <= max) return ok(value)
  const range = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`
  return err(`must be a whole number ${range}, not ${quote(given)}`)
}
