import { Type } from 'typebox'
import type { Result } from '../../../base/result.ts'
import { DAY_MS, type TimeSpan } from '../../../base/time.ts'
import type { FieldErrors } from '../../errors.ts'
import { Problems } from '../../validation/problems.ts'
import { date, optional } from '../fields.ts'
import { readParameters } from '../listQuery.ts'
import { instant } from '../../validation/moments.ts'

const DAYS_DEFAULT = 31
const DAYS_MAX = 366

export const OccurrencesQuery = Type.Object({
  from: optional(Type.String({ format: 'date-time', description: 'Inclusive; default now.' })),
  until: optional(
    Type.String({
      format: 'date-time',
      description: `Exclusive; default ${DAYS_DEFAULT} days after \`from\`, at most ${DAYS_MAX}.`,
    }),
  ),
})

export const OccurrenceRecord = Type.Object(
  {
    start: date(),
    end: optional(Type.String({ format: 'date-time', description: 'Absent: it ends by hand, or with the next one.' })),
    active: optional(Type.Boolean({ description: 'true: it is under way.' })),
    skipped: optional(Type.String({ description: 'Why it did not run, or will not.' })),
  },
  { $id: 'Occurrence', additionalProperties: false },
)

/** Parses the query of the occurrences of a scheduler. */
export function readOccurrencesQuery(query: Record<string, unknown>, nowMs: number): Result<TimeSpan, FieldErrors> {
  const problems = new Problems()
  const given = readParameters<{ from: number; until: number }>(query, { from: instant, until: instant }, problems)
  const fromMs = given.from ?? Math.min(nowMs, given.until ?? nowMs)
  const untilMs = given.until ?? fromMs + DAYS_DEFAULT * DAY_MS
  if (untilMs < fromMs) problems.add('until', 'must not be before from')
  if (untilMs - fromMs > DAYS_MAX * DAY_MS) problems.add('until', `must be at most ${DAYS_MAX} days after from`)
  return problems.settle({ fromMs, untilMs })
}
