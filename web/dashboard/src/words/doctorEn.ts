import type { Answer, examineServer } from '#api/tokens.ts'

export type Finding = Answer<typeof examineServer>['checks'][number]

/** What the checks of the server are called, and what they say by its code. `{name}` stands for a value. */
export interface DoctorWords {
  readonly checks: Readonly<Partial<Record<Finding['check'], string>>>
  readonly sentences: Readonly<Partial<Record<Finding['code'], string>>>
}

/** English is what the server says. */
export const doctorEn: DoctorWords = { checks: {}, sentences: {} }
