import { coded, type CodedSentence } from '../core/notices.ts'

/** How far an exchange had come when it failed. */
export type Stage = 'refused' | 'resolve' | 'connect' | 'tls' | 'send' | 'answer'

export interface EgressFailure {
  readonly stage: Stage
  /** A machine-readable code; closed list: see `FailureCode`. */
  readonly code: FailureCode
  /** For people. */
  readonly sentence: CodedSentence
}

export type FailureCode =
  | 'target_not_allowed'
  | 'name_not_found'
  | 'name_server_failed'
  | 'connection_refused'
  | 'unreachable'
  | 'reset'
  | 'timeout'
  | 'certificate_expired'
  | 'certificate_not_yet_valid'
  | 'certificate_wrong_name'
  | 'certificate_self_signed'
  | 'certificate_untrusted'
  | 'tls_failed'
  | 'answer_invalid'
  | 'aborted'
  | 'failed'

/** The outcome of one exchange. Every outcome is a value: nothing that a receiver does can make it throw. */
export type EgressOutcome =
  | {
      readonly kind: 'answered'
      readonly status: number
      readonly durationMs: number
      /** The start of the answer as text. Invalid UTF-8 and NUL become U+FFFD. */
      readonly answer: string
      /** The answer was longer than `answer`. */
      readonly truncated: boolean
    }
  | (EgressFailure & {
      readonly kind: 'failed'
      readonly durationMs: number
      /** Set when the receiver sent a status but its answer did not end in time or broke off. */
      readonly status: number | null
    })

/** Null when the receiver accepted the request (2xx), otherwise a sentence that says why it counts as failed. */
export function egressFailureOf(outcome: EgressOutcome): CodedSentence | null {
  if (outcome.kind === 'failed') return outcome.sentence
  const { status } = outcome
  if (status >= 200 && status < 300) return null
  return coded(status >= 300 && status < 400 ? 'request_redirected' : 'request_status', { status })
}
