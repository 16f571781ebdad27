import { complete, isolating, type Partly, type Translation } from './complete.ts'
import { en } from './en.ts'
import { language, type Language } from './language.ts'

/** The files of other languages; only one is loaded. A new language is a name in `language.ts`, and a line wherever this is used. */
type Files<T> = Readonly<Record<Exclude<Language, 'en'>, () => Promise<T>>>

/** What the file of the page's language has; undefined for English, and without the file, as after an update of the server. */
export const ownWords = async <T>(files: Files<T>): Promise<T | undefined> =>
  language === 'en' ? undefined : files[language]().catch(() => undefined)

/** The sentences of the language that the page speaks, with the English ones where that has none. */
export async function inLanguage<T extends object>(
  english: T,
  files: Files<Partly<Translation<T>>>,
): Promise<Translation<T>> {
  return isolating(complete<Translation<T>>(english as Translation<T>, await ownWords(files)))
}

/** The words of the language that the page speaks. */
export const words = await inLanguage(en, { de: () => import('./de.ts').then(({ de }) => de) })
if (typeof document !== 'undefined') document.documentElement.lang = words.locale === en.locale ? 'en' : language

/** A day such as `2026-12-02`. */
export const shownDate = (day: string): string =>
  new Date(day).toLocaleDateString(words.locale, { dateStyle: 'medium', timeZone: 'UTC' })
