import { ownWords } from './words.ts'

const own = await ownWords({
  de: () => import('./configurationDe.ts').then(({ configurationDe }) => configurationDe),
})

/** What a key of the configuration does, in the language of the page, or as the server says it. */
export const aboutKey = ({ key, about }: { readonly key: string; readonly about: string }): string =>
  own?.[key] ?? about
