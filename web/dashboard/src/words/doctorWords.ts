import { doctorEn, type DoctorWords, type Finding } from './doctorEn.ts'
import { inLanguage } from './words.ts'

const doctorWords: DoctorWords = await inLanguage(doctorEn, {
  de: () => import('./doctorDe.ts').then(({ doctorDe }) => doctorDe),
})

/** A finding in the language of the page. */
export function findingWords({ check, code, values, detail }: Finding): { check: string; detail: string } {
  const sentence = doctorWords.sentences[code]
  return {
    check: doctorWords.checks[check] ?? check,
    detail: sentence?.replaceAll(/\{(\w+)\}/g, (_all, name: string) => String(values[name] ?? '')) ?? detail,
  }
}
