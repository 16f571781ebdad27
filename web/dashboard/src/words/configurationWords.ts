import { language } from './language.ts'

/** What each key of the configuration does, where that is not English; a key that lacks it is described as the server does. */
const abouts: Readonly<Record<string, string>> =
  language === 'de'
    ? await import('./configurationDe.ts').then(
        ({ configurationDe }) => configurationDe,
        () => ({}),
      )
    : {}

/** In the language of the page. */
export const aboutKey = ({ key, about }: { readonly key: string; readonly about: string }): string =>
  abouts[key] ?? about
