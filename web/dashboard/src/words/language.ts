/** The languages of the pages, each by its own name. */
export const LANGUAGES = { en: 'English', de: 'Deutsch' } as const
export type Language = keyof typeof LANGUAGES

const KEY = 'sluice-language'

/** The first of these that the pages speak, such as `de` for `de-AT`; else English. */
export function firstSpoken(wanted: readonly string[]): Language {
  const known = Object.keys(LANGUAGES) as Language[]
  const [first] = wanted.flatMap((one) => known.filter((language) => one.toLowerCase().split('-')[0] === language))
  return first ?? 'en'
}

/** What the user chose, else what the browser asks for. Outside of a page it is English. */
function chosen(): Language {
  if (typeof document === 'undefined') return 'en'
  return firstSpoken([localStorage.getItem(KEY) ?? '', ...navigator.languages])
}

export const language: Language = chosen()

/** The other languages, for a control that changes to one of them. */
export const otherLanguages = (): readonly Language[] =>
  (Object.keys(LANGUAGES) as Language[]).filter((one) => one !== language)

/** The page starts again: words are read once, when it is loaded. */
export function chooseLanguage(next: Language): void {
  localStorage.setItem(KEY, next)
  location.reload()
}
