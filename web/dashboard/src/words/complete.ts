import type { en } from './en.ts'

/** The shape of a translation: the same keys, any text. */
export type Translation<T> = {
  readonly [K in keyof T]: T[K] extends (...args: infer A) => string
    ? (...args: A) => string
    : T[K] extends string
      ? string
      : Translation<T[K]>
}

/** What the file of a language has. */
export type Sentences = Partly<Translation<typeof en>>

/** A part of a translation: any sentence may be missing. */
export type Partly<T> = T extends string | ((...args: never) => string) ? T : { readonly [K in keyof T]?: Partly<T[K]> }

/** All sentences: those of `part`, and in their place those of `all` where they are missing. */
export function complete<T>(all: T, part: Partly<T> | undefined): T {
  if (part === undefined) return all
  if (typeof all !== 'object' || all === null) return part as T
  const entries = Object.entries(all).map(
    ([key, value]) => [key, complete(value, (part as Record<string, never>)[key])] as const,
  )
  return (Array.isArray(all) ? entries.map(([, value]) => value) : Object.fromEntries(entries)) as T
}

/** What turns the direction of the text around it: letters that run from right to left, and marks of direction. */
const TURNS =
  /[\u0590-\u08ff\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

/** A name between U+2068 and U+2069, if the sentence around it would else be read in another order (UAX #9). */
export const isolated = (name: string): string => (TURNS.test(name) ? `\u2068${name}\u2069` : name)

/** The same sentences, whose names keep the direction of their text to themselves. */
export function isolating<T>(all: T): T {
  if (typeof all === 'function')
    return ((...values: unknown[]) => all(...values.map((one) => (typeof one === 'string' ? isolated(one) : one)))) as T
  if (typeof all !== 'object' || all === null) return all
  if (Array.isArray(all)) return all.map(isolating) as T
  return Object.fromEntries(Object.entries(all).map(([key, value]) => [key, isolating(value)])) as T
}
