import { isoTime } from '../../../base/time.ts'
import { type Static, Type } from 'typebox'
import type { Result } from '../../../base/result.ts'
import type { Failure } from '../../../core/errors.ts'
import { CHECKS, type Examination } from '../../../core/examination.ts'
import { type DoctorCode, SENTENCES } from '../../../core/examinationSentences.ts'
import { CodedSentence } from '../../../core/notices.ts'
import { reportedNode } from '../fieldSchemas.ts'

/** An examination of this node, and when it ended. */
export interface DatedExamination extends Examination {
  readonly atMs: number
}

/** Examines this node. */
export interface Doctor {
  /** One examination at a time: if one runs, this is its answer. */
  examine(): Promise<Result<DatedExamination, Failure>>
  /** Null: there was none since the start. */
  readonly latest: DatedExamination | null
}

export const examinationRecord = (
  node: string,
  { atMs, ok, checks }: DatedExamination,
): Static<typeof ExaminationRecord> => ({
  node,
  at: isoTime(atMs),
  ok,
  checks: checks.map(({ sentences, ...check }) => ({ ...check, ...(sentences ? { sentences: [...sentences] } : {}) })),
})

const CODES = Object.keys(SENTENCES) as DoctorCode[]

export const ExaminationRecord = Type.Object({
  node: reportedNode,
  at: Type.String({ format: 'date-time' }),
  ok: Type.Boolean({ description: 'No check has failed.' }),
  checks: Type.Array(
    Type.Object({
      check: Type.Enum([...CHECKS]),
      outcome: Type.Enum(['ok', 'warn', 'FAIL']),
      code: Type.Enum(CODES, { description: 'Of the sentence; `text`: it has none.' }),
      values: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()]), {
        description: 'What stands in the sentence.',
      }),
      detail: Type.String({ description: 'The sentence: what was found and, unless it is ok, what to do.' }),
      sentences: Type.Optional(
        Type.Array(CodedSentence, { description: 'What needs attention, or `problem` of `values`, as data.' }),
      ),
    }),
  ),
})
