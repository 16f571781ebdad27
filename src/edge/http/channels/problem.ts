import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from '../../../base/log.ts'
import type { Result } from '../../../base/result.ts'
import { SESSION_LIMITS } from '../../../core/access/refusals.ts'
import {
  asChannelFailure,
  CHANNEL_ERRORS,
  CHANNEL_REFUSALS_PAGE,
  type ChannelFailure,
} from '../../../core/channels/errors.ts'
import type { HttpRefusal } from '../media/refusal.ts'
import { failureFrom, sayHelp } from '../problem.ts'

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

/** Turns a thrown error into an answer. Internals go to the log, never to the client. */
export function channelErrorHandler(log: Logger) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    sendChannelFailure(reply, asChannelFailure(failureFrom(error, log, request.id)))
}
