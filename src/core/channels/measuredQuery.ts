import type { Result } from '../../base/result.ts'
import { MEASURED_MS } from './runs/measured.ts'
import type { FieldErrors } from '../errors.ts'
import { Problems } from '../validation/problems.ts'
import type { Span } from './analytics.ts'
import { readParameters } from './listQuery.ts'
import { instant } from './moments.ts'

const MINUTE_MS = 60_000
/** Clocks differ, and a question takes its time. */
const GRACE_MS = 5000

/** Moments that were asked about, milliseconds. */
interface Asked {
  start: number
  end: number
}

/** Readers of the two moments, for lists too. */
export const measuredReaders = { start: instant, end: instant }

/** Which time of what was measured is asked for: at most a minute, and the last one where nothing is said. */
export function readMeasuredQuery(query: Record<string, unknown>, nowMs: number): Result<Span, FieldErrors> {
  const problems = new Problems()
  return measuredSpan(readParameters<Asked>(query, measuredReaders, problems), nowMs, problems)
}

/** The same, of moments that were read. */
export function measuredSpan(
  { start, end }: Partial<Asked>,
  nowMs: number,
  problems: Problems = new Problems(),
): Result<Span, FieldErrors> {
  const untilMs = end ?? (start === undefined ? nowMs + 1 : start + MINUTE_MS)
  const fromMs = start ?? untilMs - MINUTE_MS
  if (untilMs <= fromMs) problems.add('end', 'must be later than start; it is exclusive')
  else if (untilMs - fromMs > MINUTE_MS) problems.add('end', 'must be at most one minute later than start')
  const [name, edgeMs] = start === undefined ? ['end', untilMs] : ['start', fromMs]
  if (edgeMs > nowMs + GRACE_MS || fromMs < nowMs - MEASURED_MS - GRACE_MS) {
    problems.add(name, 'must be within the last five minutes: what was measured earlier is not kept')
  }
  return problems.settle({ fromMs, untilMs })
}
