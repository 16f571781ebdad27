import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from '../../base/log.ts'
import { joined, jsonOf, lazyObject } from '../../base/objects.ts'
import type { Result } from '../../base/result.ts'
import { inTurns } from '../../base/turns.ts'
import { ERRORS, failure, type Failure, type FieldErrors, invalid, REFUSALS_PAGE } from '../../core/errors.ts'

/** The only place that turns a refusal or an unexpected error into an HTTP answer of the token interface. */
export function sendFailure(reply: FastifyReply, refusal: Failure): FastifyReply {
  const { status } = ERRORS[refusal.code]
  if (status === 503) reply.header('Retry-After', '1')
  sayHelp(reply, REFUSALS_PAGE)
  return reply
    .code(status)
    .type('application/json; charset=utf-8')
    .serializer(JSON.stringify)
    .send(failureBody(refusal))
}

/** Deeper paths than those of routes get no link. */
const DEPTH_MAX = 16

/**
 * The value of `Link` that leads from a request to a page of the documentation (RFC 8288, `rel="help"`); null: none does.
 * It is relative, because a proxy may put a prefix in front.
 */
export function helpLink(url: string, page: string): string | null {
  const [path = ''] = url.split('?', 1)
  const depth = path.split('/').length - 2
  return depth < 0 || depth > DEPTH_MAX ? null : `<${'../'.repeat(depth) || './'}docs/${page}>; rel="help"`
}

/** Leads from a refusal to the page about it. */
export function sayHelp(reply: FastifyReply, page: string): void {
  const link = helpLink(reply.request.url, page)
  if (link !== null) reply.header('Link', link)
}

/** `fail`: the request is at fault. `error`: Sluice is. */
export function failureBody(refusal: Failure): object {
  const { status, text } = ERRORS[refusal.code]
  if (status < 500) return { status: 'fail', data: refusal.data }
  return { status: 'error', code: status, message: refusal.data['message'] ?? text }
}

/** `{status: "success", data}` or the refusal. */
export function sendResult<T>(reply: FastifyReply, result: Result<T, Failure>): FastifyReply {
  return result.ok ? reply.send({ status: 'success', data: result.value }) : sendFailure(reply, result.error)
}

/** An envelope with long `data` as text, written in turns of the event loop. */
export function longText(envelope: object, data: unknown): Promise<string> {
  const answer = lazyObject(Object.entries({ ...envelope, data }), (entry) => entry)
  return inTurns(joined(jsonOf(answer)))
}

/** Sends JSON without secrets that is text already. The schema of the route describes it, and filters nothing. */
export const sendJsonText = (reply: FastifyReply, text: string): FastifyReply =>
  reply
    .type('application/json; charset=utf-8')
    .serializer((json: unknown) => json as string)
    .send(text)

/** Fastify's own refusals, by its error code. An unlisted error is our fault: a 500 without details. */
const BY_FASTIFY_CODE: Readonly<Record<string, Failure>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: failure('too_large'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: failure('unsupported_media_type', 'Unsupported Media Type: send application/json'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: failure('bad_body', 'The body is not as long as Content-Length says'),
  FST_ERR_BAD_URL: failure('bad_request', 'The path is not a valid URL'),
  FST_ERR_MAX_PARAM_LENGTH: failure('uri_too_long'),
  FST_ERR_ROUTE_MISSING_CONTENT_TYPE: failure('bad_request', 'A request with QUERY needs a Content-Type'),
}

/** Turns a thrown error into an answer. Internals go to the log, never to the client. */
export function errorHandler(log: Logger) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    sendFailure(reply, failureFrom(error, log, request.id))
}

/** The same for every error that Fastify passes on, its own refusals included. */
export const failureFrom = (error: FastifyError, log: Logger, requestId: string): Failure =>
  BY_FASTIFY_CODE[error.code] ?? failureOf(error, log, requestId)

/** The refusal that a client gets for a thrown error. */
export function failureOf(error: unknown, log: Logger, requestId: string): Failure {
  if (error instanceof BadBody) return error.errors ? invalid(error.errors) : failure('bad_body', error.message)
  if (isBrokenOff(error)) return failure('bad_request', 'The request was broken off')
  if (error instanceof UnsupportedEncoding)
    return failure('unsupported_media_type', `${ERRORS.unsupported_media_type.text}: ${error.message}`)
  if (error instanceof Error && error.name === 'StoreUnavailable') {
    log.warn({ requestId, err: error }, 'answered 503: the store is unavailable')
    return failure('unavailable', storeUnavailable(error))
  }
  log.error({ requestId, err: error }, 'answered 500')
  return failure('internal')
}

const COMMIT_LOST = 'The store was lost while it wrote. Before you try again, look whether it was changed.'

/** What a client reads about a store that cannot be used. */
const storeUnavailable = (error: Error): string => {
  if ('mayHaveWritten' in error && error.mayHaveWritten === true) return COMMIT_LOST
  const reason = publicReason(error)
  return reason === null ? ERRORS.unavailable.text : `Nothing was changed: ${reason}`
}

/** What an operator can mend about a store that cannot be used; null: nothing more than that it cannot be reached. */
export const publicReason = (error: unknown): string | null =>
  error instanceof Error && 'publicReason' in error && typeof error.publicReason === 'string'
    ? error.publicReason
    : null

/** The client has aborted the request, so there is no one to answer. */
const isBrokenOff = (error: unknown): boolean =>
  error instanceof Error && error.message === 'aborted' && 'code' in error && error.code === 'ECONNRESET'

/** The body has a content encoding such as gzip. */
export class UnsupportedEncoding extends Error {
  override readonly name = 'UnsupportedEncoding'

  constructor(coding: string) {
    super(`Content-Encoding: ${coding.slice(0, 64)} is not supported; send the body as it is`)
  }
}

/** The body is not JSON or is ambiguous. The message says where, and is safe to show. */
export class BadBody extends Error {
  override readonly name = 'BadBody'
  /** The problems by property path; absent when the body as a whole is wrong. */
  readonly errors: FieldErrors | undefined

  constructor(message: string, errors?: FieldErrors) {
    super(message)
    this.errors = errors
  }
}
