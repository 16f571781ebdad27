import { noticeText } from '../../../src/core/notices.ts'
import { egressFailureOf, type EgressOutcome } from '../../../src/net/outcome.ts'

/** Why an exchange failed, as people read it; null: it did not. */
export function failureText(outcome: EgressOutcome): string | null {
  const failure = egressFailureOf(outcome)
  return failure && noticeText([failure])
}
