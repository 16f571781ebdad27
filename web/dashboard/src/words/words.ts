import { en } from './en.ts'

/** The shape of a translation: the same keys, any text. */
type Translation<T> = {
  readonly [K in keyof T]: T[K] extends (...args: infer A) => string
    ? (...args: A) => string
    : T[K] extends string
      ? string
      : Translation<T[K]>
}

export type Words = Translation<typeof en>

/** The words of the language that the page speaks. */
export const words: Words = en
