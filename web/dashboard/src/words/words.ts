import { complete, type Sentences, type Words } from './complete.ts'
import { en } from './en.ts'
import { language, type Language } from './language.ts'

/** The file of each language; only one is loaded. A new language is a file, a name in `language.ts`, and a line here. */
const FILES: Readonly<Record<Exclude<Language, 'en'>, () => Promise<Sentences>>> = {
  de: () => import('./de.ts').then(({ de }) => de),
}

async function load(): Promise<Words> {
  if (language === 'en') return en
  // Without the file, as after an update of the server, the page speaks English.
  return complete<Words>(en, await FILES[language]().catch(() => undefined))
}

/** The words of the language that the page speaks. */
export const words: Words = await load()
if (typeof document !== 'undefined') document.documentElement.lang = words === en ? 'en' : language
