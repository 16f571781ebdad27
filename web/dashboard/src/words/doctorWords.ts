import type { Answer, examineServer } from '#api/tokens.ts'
import { noticeWords } from './noticeWords.ts'
import { ownWords } from './words.ts'

type Finding = Answer<typeof examineServer>['checks'][number]
const own = await ownWords({
  de: () => import('./doctorDe.ts').then(({ doctorDe }) => doctorDe),
})

/** A finding in the language of the page. */
export function findingWords({ check, code, values, detail, sentences }: Finding): { check: string; detail: string } {
  if (sentences) return { check: own?.checks[check] ?? check, detail: noticeWords(detail, sentences) }
  const sentence = own?.sentences[code]
  return {
    check: own?.checks[check] ?? check,
    detail: sentence?.replaceAll(/\{(\w+)\}/g, (_all, name: string) => String(values[name] ?? '')) ?? detail,
  }
}
