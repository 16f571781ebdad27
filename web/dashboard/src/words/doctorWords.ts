import type { Answer, examineServer } from '#api/tokens.ts'
import { noticeWords } from './noticeWords.ts'
import { ownWords } from './words.ts'

type Finding = Answer<typeof examineServer>['checks'][number]
const own = await ownWords({
  de: () => import('./doctorDe.ts').then(({ doctorDe }) => doctorDe),
})

/** As a heading; the program is written as its makers do. */
const capitalized = (check: string): string =>
  check.startsWith('ffmpeg') ? check : check.charAt(0).toUpperCase() + check.slice(1)

/** A finding in the language of the page. */
export function findingWords({ check, code, values, detail, sentences }: Finding): { check: string; detail: string } {
  const name = own?.checks[check] ?? capitalized(check)
  if (sentences && code === 'text') return { check: name, detail: noticeWords(detail, sentences) }
  const sentence = own?.sentences[code]
  const said = sentences ? { ...values, problem: noticeWords(String(values['problem']), sentences) } : values
  return {
    check: name,
    detail: sentence?.replaceAll(/\{(\w+)\}/g, (_all, name: string) => String(said[name] ?? '')) ?? detail,
  }
}
