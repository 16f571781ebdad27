import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from '../../../base/log.ts'
import type { AdmissionRefusal } from '../../../commands/sessions/feedFor.ts'
import { SESSION_LIMITS } from '../../../core/access/refusals.ts'
import { ERRORS } from '../../../core/errors.ts'
import { failureFrom, sayHelp, UnsupportedEncoding } from '../problem.ts'

export const SDP = 'application/sdp'
/** Trickled candidates, RFC 8840 section 9. */
export const FRAGMENT = 'application/trickle-ice-sdpfrag'

/** A refusal for clients of WHIP and WHEP: a status and one line of text. */
export interface HttpRefusal {
  readonly status: number
  readonly text: string
  /** Set on redirects. */
  readonly location?: string
  /** In place of `location`: the same address at this node. */
  readonly nodeUrl?: string
  /** Replaces the default for the status. */
  readonly retryAfterSeconds?: number | undefined
  /** The page below `/docs/` about it. */
  readonly help?: string | undefined
  /** How long caches may keep it; absent: not at all. Media endpoints only. */
  readonly cacheSeconds?: number
}

const HELP_OF_LIMITS = 'reference/errors.html#when-a-limit-is-reached'

/** The answer to a client that was not admitted. */
export const notAdmitted = ({
  status,
  code,
  message: text,
  retryAfterSeconds,
}: AdmissionRefusal<number>): HttpRefusal => ({
  status,
  text,
  retryAfterSeconds,
  help: code in SESSION_LIMITS ? HELP_OF_LIMITS : undefined,
})

export const UNKNOWN: HttpRefusal = { status: 404, text: 'Not found: this session is over or never was' }

/** A feed may begin at any moment; a reached bound clears within a second. */
const RETRY_AFTER_SECONDS: Readonly<Record<number, number>> = { 409: 2, 429: 1, 503: 1 }

export function sendRefusal(reply: FastifyReply, refused: HttpRefusal): FastifyReply {
  const { status, text, location, help, retryAfterSeconds = RETRY_AFTER_SECONDS[status] } = refused
  if (retryAfterSeconds !== undefined) reply.header('Retry-After', String(retryAfterSeconds))
  if (help !== undefined) sayHelp(reply, help)
  if (location !== undefined) reply.header('Location', location)
  if (status === 401) reply.header('WWW-Authenticate', 'Bearer')
  return reply.code(status).type('text/plain; charset=utf-8').send(text)
}

/** Answers a thrown error in plain text. Internals go to the log, never to the client. */
export function plainErrorHandler(log: Logger) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const failure = failureFrom(error, log, request.id)
    const { status, text } = ERRORS[failure.code]
    const { message } = failure.data
    const isOfOtherType = status === 415 && !(error instanceof UnsupportedEncoding)
    if (isOfOtherType) return sendRefusal(reply, { status, text: `${text}: send ${SDP}, or ${FRAGMENT} to PATCH` })
    return sendRefusal(reply, { status, text: typeof message === 'string' ? message : text })
  }
}
