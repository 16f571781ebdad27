/** The names of `{name}` in a sentence. */
type NamesIn<Sentence> = Sentence extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never

/** What a sentence needs: a value for each `{name}` in it. */
export type ValuesIn<Sentence> = { readonly [Name in NamesIn<Sentence>]: string | number }

/** The same as the last argument of a function; absent for a sentence that needs none. */
export type ValuesArgument<Sentence> = keyof ValuesIn<Sentence> extends never ? [] : [values: ValuesIn<Sentence>]

/** Values by name, of any sentence. */
export type SentenceValues = Readonly<Record<string, string | number>>

export const filled = (sentence: string, values: SentenceValues): string =>
  sentence.replaceAll(/\{(\w+)\}/g, (_all, name: string) => String(values[name]))
