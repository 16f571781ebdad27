import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { returnsWithinMs } from '../../../commands/sessions/heldEnd.ts'
import { REFUSALS } from '../../../core/access/refusals.ts'
import type { Patched } from '../../../media/engine.ts'
import type { SignalingParts } from './parts.ts'
import { hasType } from './offer.ts'
import { FRAGMENT, sendRefusal, type HttpRefusal } from '../media/refusal.ts'
import { quotedTag, type SignalingResource } from './resources.ts'

const MAX_FRAGMENT_BYTES = 16_384
/** Concurrent PATCHes of one session. A browser sends one after the other. */
const MAX_PATCHING = 8

/** Trickled candidates and ICE restarts (RFC 9725 section 4.3). */
export function patchRoute(app: FastifyInstance, parts: SignalingParts): void {
  const limit = { bodyLimit: MAX_FRAGMENT_BYTES }
  app.patch<{ Params: { id: string } }>('/resource/:id', limit, async (request, reply) => {
    const resource = parts.resources.find(request.params.id)
    if (resource === undefined) return sendRefusal(reply, parts.resources.goneAs(request.params.id))
    const refused = precondition(request, resource)
    if (refused !== null) return sendRefusal(reply, refused)
    const answered = await patched(parts, resource, request)
    const returnMs = answered.ok && isQuestion(request.body as Buffer) ? await publisherReturns(parts, resource) : null
    if (returnMs === null) return answer(reply, resource, answered)
    const retryAfterSeconds = Math.ceil(returnMs / 1000)
    return sendRefusal(reply, { status: 409, text: REFUSALS.stream_not_published.text, retryAfterSeconds })
  })
}

/** Without candidates it changes nothing: a client that gets no more media asks whether its session is there. */
const isQuestion = (fragment: Buffer): boolean => !/^a=(candidate|end-of-candidates)/m.test(fragment.toString())

/** See `returnsWithinMs`. A viewer's session without a publisher goes on for some seconds, and ends if none comes. */
async function publisherReturns(
  { ctx, resources }: SignalingParts,
  { sessionId }: SignalingResource,
): Promise<number | null> {
  const session = ctx.sessions.get(sessionId)?.session
  return session?.action === 'view' ? returnsWithinMs(ctx, session, (id) => resources.mayDelete(id)) : null
}

async function patched(
  { engine }: SignalingParts,
  resource: SignalingResource,
  { body, headers }: FastifyRequest,
): Promise<Patched> {
  resource.patching++
  try {
    // Some clients trickle without If-Match. That is harmless as long as it cannot restart ICE.
    return await engine.patch(resource.sessionId, (body as Buffer).toString(), headers['if-match'] !== undefined)
  } finally {
    resource.patching--
  }
}

function precondition(request: FastifyRequest, resource: SignalingResource): HttpRefusal | null {
  if (!Buffer.isBuffer(request.body) || !hasType(request, FRAGMENT))
    return { status: 415, text: `Unsupported Media Type: send ${FRAGMENT}` }
  if (request.body.length === 0) return { status: 400, text: 'Bad request: the fragment is empty' }
  const ifMatch = request.headers['if-match']
  if (ifMatch !== undefined && !matches(ifMatch, resource.etag)) {
    return { status: 412, text: 'Precondition Failed: the ETag is that of an earlier ICE session' }
  }
  if (resource.patching >= MAX_PATCHING) return { status: 429, text: 'Too many PATCH requests at a time' }
  return null
}

/**
 * An ICE restart has `*`, which some clients put in quotes (RFC 9725 section 4.3.3). A list matches when one of its
 * tags does (RFC 9110 section 13.1.1).
 */
const matches = (ifMatch: string, etag: string): boolean =>
  ifMatch.split(',').some((tag) => ['*', '"*"', etag].includes(tag.trim()))

function answer(reply: FastifyReply, resource: SignalingResource, patched: Patched): FastifyReply {
  if (!patched.ok) return sendRefusal(reply, { status: patched.status, text: patched.problem })
  resource.etag = quotedTag(patched.etag)
  if (patched.answer === null) return reply.code(204).send()
  return reply.code(200).header('ETag', resource.etag).type(FRAGMENT).send(patched.answer)
}
