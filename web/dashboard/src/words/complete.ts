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
