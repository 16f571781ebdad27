import { quote } from '../base/quote.ts'
import { err, ok, type Result } from '../base/result.ts'

/** One configuration key: all facts for the loader, the default file and the documentation. */
export interface Key<T> {
  readonly default: T
  /** One sentence for the operator, with its unit. */
  readonly about: string
  /** The allowed values, in words. */
  readonly allowed: string
  /** The value of a secret is never shown, neither in a problem nor in a log. */
  readonly secret: boolean
  /** Whether a reload applies a new value; otherwise it needs a restart. */
  readonly live: boolean
  /** Replaces the credentials inside of a value that is no secret as a whole, for all who are shown it. */
  mask?(value: T): T
  /** Checks a value from the file or the command line. The error is a predicate after the key. */
  check(value: unknown): Result<T, string>
  /** Parses the text of an environment variable. */
  parse(text: string): Result<T, string>
}

interface About<T> {
  default: T
  about: string
  live?: boolean
}

interface Bounds {
  min: number
  max: number
}

/** Checks text; returns what is wrong with it, or undefined. */
export type TextRule = (text: string) => string | undefined

interface TextOptions extends About<string> {
  allowed: string
  secret?: boolean
  rule?: TextRule
}

const MAX_TEXT = 1024
const MAX_ITEMS = 1000

/** Text on one line, at most 1024 characters, that passes `rule`. */
export function text({
  default: fallback,
  about,
  allowed,
  secret = false,
  live = false,
  rule,
}: TextOptions): Key<string> {
  const check = (value: unknown): Result<string, string> => {
    if (typeof value !== 'string') return err(notText(value, secret))
    const reason = textProblem(value) ?? rule?.(value)
    if (reason === undefined) return ok(value)
    return err(secret ? reason : `${quote(value)} ${reason}`)
  }
  return { default: fallback, about, allowed, secret, live, check, parse: check }
}

/** A message names the type of a secret but not its value: YAML reads a password of digits as a number. */
function notText(value: unknown, secret: boolean): string {
  const hint = typeof value === 'object' || value === undefined ? '' : ' (put it in quotes)'
  return `is ${secret ? '' : `${nameOfType(value)}, `}not text${hint}`
}

/** A whole number from `min` to `max`. */
export function integer({ default: fallback, about, live = false, min, max }: About<number> & Bounds): Key<number> {
  const allowed = `a whole number from ${min} to ${max}`
  const check = (value: unknown): Result<number, string> => {
    if (typeof value !== 'number') return err(`is ${nameOfType(value)}, not a number`)
    if (!Number.isInteger(value)) return err(`${value} is not a whole number`)
    return value < min || value > max ? err(`${value} is out of range`) : ok(value)
  }
  const parse = (input: string): Result<number, string> =>
    /^-?\d{1,15}$/.test(input) ? check(Number(input)) : err(`${quote(input)} is not a whole number`)
  return { default: fallback, about, allowed, secret: false, live, check, parse }
}

/** A share, from 0 (none) to 1 (all). */
export function rate({ default: fallback, about, live = false }: About<number>): Key<number> {
  const check = (value: unknown): Result<number, string> => {
    if (typeof value !== 'number') return err(`is ${nameOfType(value)}, not a number`)
    return value >= 0 && value <= 1 ? ok(value) : err(`${value} is out of range`)
  }
  const parse = (input: string): Result<number, string> =>
    /^\d{1,3}(\.\d{1,12})?$/.test(input) ? check(Number(input)) : err(`${quote(input)} is not a number such as 0.25`)
  return { default: fallback, about, allowed: 'a number from 0 (none) to 1 (all)', secret: false, live, check, parse }
}

/** On or off. */
export function toggle({ default: fallback, about, live = false }: About<boolean>): Key<boolean> {
  const check = (value: unknown): Result<boolean, string> =>
    typeof value === 'boolean' ? ok(value) : err(`is ${nameOfType(value)}, not a switch`)
  const parse = (input: string): Result<boolean, string> =>
    input === 'true' || input === 'false' ? ok(input === 'true') : err(`${quote(input)} is neither true nor false`)
  return { default: fallback, about, allowed: 'true or false', secret: false, live, check, parse }
}

/** One of several words. */
export function choice<const W extends string>(
  words: readonly W[],
  { default: fallback, about, live = false }: About<W>,
): Key<W> {
  const check = (value: unknown): Result<W, string> => {
    const word = words.find((w) => w === value)
    if (word !== undefined) return ok(word)
    return err(typeof value === 'string' ? `${quote(value)} is not known` : `is ${nameOfType(value)}, not a word`)
  }
  return { default: fallback, about, allowed: words.join(', '), secret: false, live, check, parse: check }
}

interface ListOptions extends About<readonly string[]> {
  allowed: string
  rule: TextRule
  /** Replaces the credential in an item, right or wrong. */
  mask?: (item: string) => string
}

/** A list of text; each item passes `rule`. In the environment commas separate the items. */
export function list({
  default: fallback,
  about,
  allowed,
  live = false,
  rule,
  mask = (item) => item,
}: ListOptions): Key<readonly string[]> {
  const maskAll = (items: readonly string[]): string[] => items.map(mask)
  const check = (value: unknown): Result<readonly string[], string> => {
    if (!Array.isArray(value)) return err(`is ${nameOfType(value)}, not a list`)
    if (value.length > MAX_ITEMS) return err(`has ${value.length} items; ${MAX_ITEMS} is the most`)
    const reasons = value.map((item) => itemProblem(item, rule, mask)).filter((reason) => reason !== undefined)
    return reasons.length === 0 ? ok([...(value as string[])]) : err(reasons.join('; '))
  }
  const parse = (input: string): Result<readonly string[], string> =>
    check(input.trim() === '' ? [] : input.split(',').map((item) => item.trim()))
  return { default: fallback, about, allowed, secret: false, live, mask: maskAll, check, parse }
}

function itemProblem(item: unknown, rule: TextRule, mask: (item: string) => string): string | undefined {
  if (typeof item !== 'string') return `has ${nameOfType(item)} in it, not text`
  const reason = textProblem(item) ?? rule(item)
  return reason === undefined ? undefined : `${quote(mask(item))} ${reason}`
}

function textProblem(value: string): string | undefined {
  if (value.length > MAX_TEXT) return `is longer than ${MAX_TEXT} characters`
  // A NUL would truncate a path in the system call. Other control characters are invalid in host names, paths and
  // secrets.
  return /\p{Cc}/u.test(value) ? 'contains a control character' : undefined
}

/** What stands for a secret where values are shown. */
export const SECRET = '(secret)'

/** A value of a key as people and logs may see it. */
export const shownOf = (key: Key<unknown>, value: unknown): unknown =>
  key.secret ? SECRET : (key.mask?.(value) ?? value)

/** Stands for an alias (`*name`) in a file. No key accepts one: write each value where it applies. */
export const ALIAS = Symbol('alias')

/** The type of a value, in terms of YAML. */
export function nameOfType(value: unknown): string {
  if (value === null || value === undefined) return 'empty'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'string') return 'text'
  if (typeof value === 'boolean') return `the switch ${value}`
  if (typeof value === 'number' || typeof value === 'bigint') return `the number ${value}`
  return value === ALIAS ? 'an alias' : 'a section'
}
