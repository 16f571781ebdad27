import { complete, type Partly, type Translation } from './complete.ts'
import { en } from './en.ts'
import { language, type Language } from './language.ts'

/** The files of other languages; only one is loaded. A new language is a name in `language.ts`, and a line wherever this is used. */
type Files<T> = Readonly<Record<Exclude<Language, 'en'>, () => Promise<Partly<Translation<T>>>>>

/** The sentences of the language that the page speaks, with the English ones where that has none. */
export async function inLanguage<T extends object>(english: T, files: Files<T>): Promise<Translation<T>> {
  // Without the file, as after an update of the server, the page speaks English.
  const own = language === 'en' ? undefined : await files[language]().catch(() => undefined)
  return complete<Translation<T>>(english as Translation<T>, own)
}

/** The words of the language that the page speaks. */
export const words = await inLanguage(en, { de: () => import('./de.ts').then(({ de }) => de) })
if (typeof document !== 'undefined') document.documentElement.lang = words.locale === en.locale ? 'en' : language
