import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from '../../../base/log.ts'
import type { Result } from '../../../base/result.ts'
import { SESSION_LIMITS } from '../../../core/access/refusals.ts'
import {
  CHANNEL_ERRORS,
  CHANNEL_REFUSALS_PAGE,
  type ChannelFailure,
  refusal,
  validationFailed,
} from '../../../core/channels/errors.ts'
import type { HttpRefusal } from '../media/refusal.ts'
import { BadBody, isBrokenOff, sayHelp, storeUnavailable, UnsupportedEncoding } from '../problem.ts'

/** The only place that turns a refusal or an unexpected error into an HTTP answer of the channels interface. */
export function sendChannelFailure(reply: FastifyReply, failure: ChannelFailure): FastifyReply {
  const status = CHANNEL_ERRORS[failure.code]
  if (status === 503)
    reply.header('Retry-After', failure.code === 'node_full' ? SESSION_LIMITS.node_full.retryAfterSeconds : 1)
  sayHelp(reply, CHANNEL_REFUSALS_PAGE)
  return reply.code(status).type('application/json; charset=utf-8').serializer(JSON.stringify).send(failure)
}

/** The refusal for players, in plain text. */
export const asHttpRefusal = ({ code, message: text }: ChannelFailure): HttpRefusal => ({
  status: CHANNEL_ERRORS[code],
  text,
})

/** `{data}` or the refusal. */
export function sendData<T>(reply: FastifyReply, result: Result<T, ChannelFailure>): FastifyReply {
  return result.ok ? reply.send({ data: result.value }) : sendChannelFailure(reply, result.error)
}

/** `{data, pagination}`, or any other answer with an envelope of its own. */
export function sendWhole<T>(reply: FastifyReply, result: Result<T, ChannelFailure>): FastifyReply {
  return result.ok ? reply.send(result.value) : sendChannelFailure(reply, result.error)
}

/** 204 or the refusal. */
export function sendDone(reply: FastifyReply, result: Result<unknown, ChannelFailure>): FastifyReply {
  return result.ok ? reply.code(204).send() : sendChannelFailure(reply, result.error)
}

/** 204 with `X-Service-Warning` when there is a warning, or the refusal. */
export function sendWarned(
  reply: FastifyReply,
  result: Result<{ readonly warning: string | null }, ChannelFailure>,
): FastifyReply {
  if (result.ok && result.value.warning !== null) reply.header('X-Service-Warning', result.value.warning)
  return sendDone(reply, result)
}

/** Fastify's own refusals, by its error code. An unlisted error is our fault: a 500 without details. */
const BY_FASTIFY_CODE: Readonly<Record<string, ChannelFailure>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: refusal('too_large', 'The body is too large'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: refusal('unsupported_media_type', 'Send application/json'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: refusal('invalid_body', 'The body is not as long as Content-Length says'),
  FST_ERR_BAD_URL: refusal('not_found', 'The path is not a valid URL'),
  FST_ERR_MAX_PARAM_LENGTH: refusal('uri_too_long', 'The path is too long'),
}

/** Turns a thrown error into an answer. Internals go to the log, never to the client. */
export function channelErrorHandler(log: Logger) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    sendChannelFailure(reply, BY_FASTIFY_CODE[error.code] ?? failureOf(error, log, request.id))
}

function failureOf(error: Error, log: Logger, requestId: string): ChannelFailure {
  if (error instanceof BadBody) {
    return error.errors ? validationFailed(error.errors) : refusal('invalid_body', error.message)
  }
  if (isBrokenOff(error)) return refusal('invalid_request', 'The request was broken off')
  if (error instanceof UnsupportedEncoding) return refusal('unsupported_media_type', error.message)
  if (error.name === 'StoreUnavailable') {
    log.warn({ requestId, err: error }, 'answered 503: the store is unavailable')
    return refusal('unavailable', storeUnavailable(error))
  }
  log.error({ requestId, err: error }, 'answered 500')
  return refusal('internal', 'Internal error')
}
