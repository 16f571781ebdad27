import { OutOfTime, Stopped } from './deadline.ts'
import type { EgressFailure, FailureCode, Stage } from './outcome.ts'

/** Carries a failure through third-party code that only knows exceptions. */
export class ExchangeFailed extends Error {
  override readonly name = 'ExchangeFailed'
  readonly failure: EgressFailure
  constructor(failure: EgressFailure, options?: ErrorOptions) {
    super(failure.message, options)
    this.failure = failure
  }
}

type Words = readonly [code: FailureCode, message: string]

const NAME_NOT_FOUND: Words = ['name_not_found', 'the host name does not exist']
const NAME_SERVER: Words = ['name_server_failed', 'the name server did not answer the question for the host name']
const UNREACHABLE: Words = ['unreachable', 'the host cannot be reached']
const RESET: Words = ['reset', 'the receiver closed the connection before its answer was complete']
const SELF_SIGNED: Words = ['certificate_self_signed', 'the certificate is self-signed and not trusted']
const UNTRUSTED: Words = ['certificate_untrusted', 'the certificate was issued by an authority that is not trusted']
const INVALID: Words = ['answer_invalid', 'the answer is not valid HTTP']

/** Failure codes and messages for errors of Node, OpenSSL and c-ares. */
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
  ECONNREFUSED: ['connection_refused', 'the host refuses connections on this port'],
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  EADDRNOTAVAIL: UNREACHABLE,
  EACCES: UNREACHABLE,
  ETIMEDOUT: ['timeout', 'the host did not answer'],
  ECONNRESET: RESET,
  EPIPE: RESET,
  CERT_HAS_EXPIRED: ['certificate_expired', 'the certificate has expired'],
  CERT_NOT_YET_VALID: ['certificate_not_yet_valid', 'the certificate is not valid yet'],
  ERR_TLS_CERT_ALTNAME_INVALID: ['certificate_wrong_name', 'the certificate is for another host name'],
  DEPTH_ZERO_SELF_SIGNED_CERT: SELF_SIGNED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  HPE_HEADER_OVERFLOW: ['answer_invalid', 'the header of the answer is too long'],
}

/** The pending step of each stage, for the message of a timeout. */
const WAITED_FOR: Readonly<Record<Stage, string>> = {
  refused: 'the target was not checked',
  resolve: 'the name server did not answer',
  connect: 'the host did not accept a connection',
  tls: 'the host did not complete the TLS handshake',
  send: 'the receiver did not read the request',
  answer: 'the receiver did not give a complete answer',
}

/**
 * Turns a network exception into a failure with code and message. An unknown exception keeps the first line of its
 * text.
 */
export function egressFailureFrom(stage: Stage, error: unknown): EgressFailure {
  if (error instanceof ExchangeFailed) return error.failure
  if (error instanceof Stopped) return { stage, code: 'aborted', message: 'the delivery was stopped' }
  if (error instanceof OutOfTime) {
    return { stage, code: 'timeout', message: `${WAITED_FOR[stage]} within ${error.limitMs / 1000} s` }
  }
  const { code: given, message = String(error) } = error as { code?: unknown; message?: string }
  const code = typeof given === 'string' ? given : ''
  const [word, text] = wordsFor(stage, code) ?? unknownWords(stage, code, message)
  return { stage, code: word, message: text }
}

function wordsFor(stage: Stage, code: string): Words | undefined {
  if (stage === 'tls' && KNOWN[code] === RESET) return ['reset', 'the host closed the connection in the TLS handshake']
  // Errors of the HTTP parser begin so.
  return KNOWN[code] ?? (code.startsWith('HPE_') ? INVALID : undefined)
}

function unknownWords(stage: Stage, code: string, message: string): Words {
  const line = message.split('\n', 1)[0]?.slice(0, 200) ?? ''
  if (stage === 'tls') return ['tls_failed', `no secure connection could be made (${code || line})`]
  return ['failed', code === '' ? line : `${line} (${code})`]
}
