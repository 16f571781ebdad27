import { err, ok, type Result } from '../../base/result.ts'
import type { FieldErrors } from '../errors.ts'
import { type ParameterReader, type QueryPart, readListQuery } from '../pages/listQuery.ts'
import { parametersOf } from '../pages/parameters.ts'
import { nameProblem } from '../validation/text.ts'
import { readUsageQuery } from './query.ts'

/** Which tracking ids a list shows. */
export interface TrackedFilter {
  readonly fromMs: number
  readonly untilMs: number
  readonly prefix: string
}

const READERS: Readonly<Record<string, ParameterReader<{ prefix: string }>>> = {
  prefix: (text) => {
    const problem = text === '' ? null : nameProblem(text)
    return problem === null ? ok({ prefix: text }) : err(problem)
  },
}

/** Parses the query of the list of tracking ids. All errors at once. */
export function readTrackedQuery(query: Record<string, unknown>): Result<TrackedFilter & QueryPart, FieldErrors> {
  const dates = readUsageQuery(parametersOf(query, ['startDate', 'stopDate', 'timeZone']), {})
  const page = readListQuery(query, READERS)
  const errors = { ...(dates.ok ? {} : dates.error), ...(page.ok ? {} : page.error) }
  if (!dates.ok || !page.ok) return err(errors)
  const { fromMs, untilMs } = dates.value
  return ok({ prefix: '', ...page.value, fromMs, untilMs })
}
