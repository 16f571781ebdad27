import { coded, type CodedSentence, noticeText } from '../core/notices.ts'
import { OutOfTime, Stopped } from './deadline.ts'
import type { EgressFailure, FailureCode, Stage } from './outcome.ts'

/** Carries a failure through third-party code that only knows exceptions. */
export class ExchangeFailed extends Error {
  override readonly name = 'ExchangeFailed'
  readonly failure: EgressFailure
  constructor(failure: EgressFailure) {
    super(noticeText([failure.sentence]))
    this.failure = failure
  }
}

type Words = readonly [code: FailureCode, sentence: CodedSentence]

const NAME_NOT_FOUND: Words = ['name_not_found', coded('request_name_not_found')]
const NAME_SERVER: Words = ['name_server_failed', coded('request_name_server')]
const UNREACHABLE: Words = ['unreachable', coded('request_unreachable')]
const RESET: Words = ['reset', coded('request_reset')]
const SELF_SIGNED: Words = ['certificate_self_signed', coded('request_certificate_self_signed')]
const UNTRUSTED: Words = ['certificate_untrusted', coded('request_certificate_untrusted')]
const INVALID: Words = ['answer_invalid', coded('request_answer_invalid')]

/** Failure codes and sentences for errors of Node, OpenSSL and c-ares. */
const KNOWN: Readonly<Record<string, Words>> = {
  ENOTFOUND: NAME_NOT_FOUND,
  ENODATA: NAME_NOT_FOUND,
  ENONAME: NAME_NOT_FOUND,
  EBADNAME: NAME_NOT_FOUND,
  ESERVFAIL: NAME_SERVER,
  EREFUSED: NAME_SERVER,
  ETIMEOUT: NAME_SERVER,
  EAI_AGAIN: NAME_SERVER,
  EBADRESP: NAME_SERVER,
  ECONNREFUSED: ['connection_refused', coded('request_connection_refused')],
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  EADDRNOTAVAIL: UNREACHABLE,
  EACCES: UNREACHABLE,
  ETIMEDOUT: ['timeout', coded('request_no_answer')],
  ECONNRESET: RESET,
  EPIPE: RESET,
  CERT_HAS_EXPIRED: ['certificate_expired', coded('request_certificate_expired')],
  CERT_NOT_YET_VALID: ['certificate_not_yet_valid', coded('request_certificate_not_yet_valid')],
  ERR_TLS_CERT_ALTNAME_INVALID: ['certificate_wrong_name', coded('request_certificate_wrong_name')],
  DEPTH_ZERO_SELF_SIGNED_CERT: SELF_SIGNED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  HPE_HEADER_OVERFLOW: ['answer_invalid', coded('request_header_too_long')],
}

/**
 * Turns a network exception into a failure with code and sentence. An unknown exception keeps the first line of its
 * text.
 */
export function egressFailureFrom(stage: Stage, error: unknown): EgressFailure {
  if (error instanceof ExchangeFailed) return error.failure
  if (error instanceof Stopped) return { stage, code: 'aborted', sentence: coded('request_stopped') }
  if (error instanceof OutOfTime) {
    return { stage, code: 'timeout', sentence: coded(`request_late_${stage}`, { seconds: error.limitMs / 1000 }) }
  }
  const { code: given, message = String(error) } = error as { code?: unknown; message?: string }
  const code = typeof given === 'string' ? given : ''
  const [word, sentence] = wordsFor(stage, code) ?? unknownWords(stage, code, message)
  return { stage, code: word, sentence }
}

function wordsFor(stage: Stage, code: string): Words | undefined {
  if (stage === 'tls' && KNOWN[code] === RESET) return ['reset', coded('request_reset_tls')]
  // Errors of the HTTP parser begin so.
  return KNOWN[code] ?? (code.startsWith('HPE_') ? INVALID : undefined)
}

function unknownWords(stage: Stage, code: string, message: string): Words {
  const line = message.split('\n', 1)[0]?.slice(0, 200) ?? ''
  if (stage === 'tls') return ['tls_failed', coded('request_tls', { text: code || line })]
  return ['failed', coded('text', { text: code === '' ? line : `${line} (${code})` })]
}
