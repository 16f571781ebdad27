import type { Result } from '../../base/result.ts'
import { MINUTE_MS, type TimeSpan } from '../../base/time.ts'
import { MEASURED_MS } from './runs/measured.ts'
import type { FieldErrors } from '../errors.ts'
import { Problems } from '../validation/problems.ts'
import { readParameters } from './listQuery.ts'
import { instant } from '../validation/moments.ts'

/** A tolerance for clocks that differ and for the time that a request takes. */
const GRACE_MS = 5000

/** The requested moments, milliseconds. */
interface Moments {
  start: number
  end: number
}

/** Readers of the two moments, for lists too. */
export const measuredReaders = { start: instant, end: instant }

/** The requested time span of measurements: at most a minute, by default the last one. */
export function readMeasuredQuery(query: Record<string, unknown>, nowMs: number): Result<TimeSpan, FieldErrors> {
  const problems = new Problems()
  return measuredSpan(readParameters<Moments>(query, measuredReaders, problems), nowMs, problems)
}

/** The same, from parsed moments. */
export function measuredSpan(
  { start, end }: Partial<Moments>,
  nowMs: number,
  problems: Problems = new Problems(),
): Result<TimeSpan, FieldErrors> {
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
