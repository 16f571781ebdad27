import { ownWords } from './words.ts'

const step = await ownWords({ de: () => import('./traceDe.ts').then(({ stepDe }) => stepDe) })

/** A step of a decision in the language of the page. Logs keep its words in English, so the page goes by them. */
export const stepWords = (detail: string): string => step?.(detail) ?? detail
