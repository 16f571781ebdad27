import { HOUR_MS } from '../../base/time.ts'
import { firstIdOf } from '../../base/ids.ts'
import { err, ok, type Result } from '../../base/result.ts'
import {
  isAskedFor,
  type RecordForm,
  type RecordQuestion,
  readRecordQuestion,
} from '../../core/audience/recordQuery.ts'
import { recordOf, type ViewerRecord } from '../../core/audience/records.ts'
import { type Failure, invalid } from '../../core/errors.ts'
import type { AudienceReads } from '../../store/store.ts'
import type { SessionContext } from '../context.ts'
import { withNewest } from '../sessions/newest.ts'

/** Sessions in memory at once. */
const PAGE = 2_000
/** A clock that stepped back gave ids that are later than their times. */
const STEP_MS = HOUR_MS

interface RecordContext extends Pick<SessionContext, 'clock' | 'sessions' | 'playerReports'> {
  readonly store: { readonly read: { readonly audience: Pick<AudienceReads, 'range'> } }
}
type Records = AsyncGenerator<readonly ViewerRecord[], void>

/**
 * The records of viewers who were admitted before now, oldest first, page by page: the next page is read when this one is
 * taken, so a slow reader holds up nothing.
 */
export function readViewerRecords(
  ctx: RecordContext,
  accountId: string,
  form: RecordForm,
  given: unknown,
): Result<Records, Failure> {
  const read = readRecordQuestion(form, given)
  return read.ok ? ok(pages(ctx, accountId, read.value)) : err(invalid(read.error))
}

async function* pages(ctx: RecordContext, accountId: string, question: RecordQuestion): Records {
  const { started } = question
  const nowMs = ctx.clock.now()
  // An id begins with the time of its admission, so that a time is a part of one index.
  const before = firstIdOf(Math.min(nowMs + 1, started.untilMs) + STEP_MS)
  let after = laterOf(question.after ?? '', firstIdOf(started.fromMs))
  let left = question.limit
  for (;;) {
    const rows = await ctx.store.read.audience.range({ accountId, after, before, limit: PAGE })
    const asked = rows.filter((row) => row.startedAtMs <= nowMs && isAskedFor(row, question)).slice(0, left)
    if (asked.length > 0) yield asked.map((row) => recordOf(withNewest(ctx, row), ctx.clock.now()))
    left -= asked.length
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE || left <= 0) return
    after = last.id
  }
}

const laterOf = (a: string, b: string): string => (a > b ? a : b)
