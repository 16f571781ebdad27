import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { forwardedPrefix } from '../peer.ts'
import { recordInvalidMedia } from '../../../commands/access/authorize.ts'
import { closeSession, endSession } from '../../../commands/sessions/close.ts'
import { endHeld } from '../../../commands/sessions/heldEnd.ts'
import { PROTOCOLS_OF } from '../../../core/access/protocols.ts'
import type { SessionEndReason } from '../../../core/sessions/endReason.ts'
import { streamIdOf } from '../../../core/streams/streamId.ts'
import { cutNotice } from '../../ingest/broadcast.ts'
import { sendPreflight } from '../media/cors.ts'
import { reportRoute } from '../media/playerReport.ts'
import { iceLinks } from './iceLinks.ts'
import { layerLink, layerRoutes } from './layers.ts'
import { MAX_OFFER_BYTES, readOffer, type SignalingOffer } from './offer.ts'
import type { AdmittedOffer, SignalingEndpoint, SignalingParts } from './parts.ts'
import { patchRoute } from './patch.ts'
import { FRAGMENT, SDP, sendRefusal, type HttpRefusal } from '../media/refusal.ts'
import { quotedTag } from './resources.ts'

/** The life cycle that WHIP (RFC 9725) and WHEP share: POST an offer; then PATCH, DELETE at the resource. */
export function openSignalingEndpoint(app: FastifyInstance, parts: SignalingParts, endpoint: SignalingEndpoint): void {
  const { stream, prefix } = endpoint
  const types = { 'Accept-Post': SDP }
  app.options(stream, (request, reply) => sendPreflight(request, reply.headers(types), 'POST, OPTIONS'))
  app.post(stream, { bodyLimit: MAX_OFFER_BYTES }, (request, reply) => answerOffer(parts, endpoint, request, reply))

  app.options('/resource/:id', (request, reply) =>
    sendPreflight(request, reply.header('Accept-Patch', FRAGMENT), 'PATCH, DELETE, OPTIONS'),
  )
  patchRoute(app, parts)
  app.delete<{ Params: { id: string } }>('/resource/:id', async (request, reply) => {
    const { ctx, engine, resources } = parts
    const sessionId = resources.delete(request.params.id)
    if (sessionId === null) return sendRefusal(reply, resources.goneAs(request.params.id))
    endHeld(ctx, sessionId)
    const entry = ctx.sessions.get(sessionId)
    await (entry ? endSession(ctx, entry, 'left') : engine.end(sessionId))
    return reply.code(200).send()
  })
  if (isWatched(endpoint)) {
    const report = '/resource/:id/report'
    app.options(report, (request, reply) => sendPreflight(request, reply, 'POST, OPTIONS'))
    layerRoutes(app, parts)
    reportRoute(app, parts.ctx, report, ({ id = '' }) => parts.resources.sessionOf(id))
  }
  app.setNotFoundHandler((request, reply) => refuseMethod(request, reply, prefix, stream))
}

const isWatched = ({ protocol }: SignalingEndpoint): boolean => PROTOCOLS_OF.view.some((one) => one === protocol)

const BUSY: HttpRefusal = { status: 503, text: 'Busy: too many offers are being answered now. Try again.' }
const ENGINE_GONE: HttpRefusal = { status: 503, text: 'The media engine cannot be reached now. Try again.' }
const OVER_ALREADY: HttpRefusal = { status: 503, text: 'The session ended before it began. Try again.' }

/** The session was ended from our side while the engine answered its offer. */
const endedFor = (reason: SessionEndReason): HttpRefusal => ({
  status: reason.startsWith('token_') ? 401 : 503,
  text: cutNotice(reason).message,
})

async function answerOffer(
  parts: SignalingParts,
  endpoint: SignalingEndpoint,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const offer = readOffer(request, endpoint.protocol)
  if (!offer.ok) return sendRefusal(reply, offer.error)
  const { pending } = parts
  if (!pending.enter(endpoint.pendingShare)) return sendRefusal(reply, BUSY)
  try {
    const admitted = await endpoint.admit(request, offer.value)
    if (!admitted.ok) return await sendRefusal(reply, admitted)
    return await begin(parts, endpoint, admitted, offer.value, reply)
  } finally {
    pending.leave()
  }
}

/** Negotiates with the engine after admission. Any failure here ends the admitted session. */
async function begin(
  parts: SignalingParts,
  endpoint: SignalingEndpoint,
  { session, attempt }: AdmittedOffer,
  offer: SignalingOffer,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { ctx, engine, resources, limits, resourceBase } = parts
  // Open the resource before asking the engine. A session that ends before its answer left must not leave a resource.
  const resource = resources.open(session.id)
  const entry = ctx.sessions.get(session.id)
  const negotiated = await endpoint.negotiate(session, offer).catch((error: unknown) => {
    ctx.log.warn({ sessionId: session.id, err: error }, 'the media engine did not answer an offer')
    return null
  })
  const ended = entry?.ending?.reason
  if (ended === undefined && negotiated?.ok !== true) {
    resources.forget(session.id)
    // Encoders such as OBS show the status of an answer, and not its text.
    if (negotiated?.status === 406) recordInvalidMedia(ctx, session, attempt, negotiated.problem)
    await closeSession(ctx, session.id, 'not_negotiated')
    return sendRefusal(reply, negotiated === null ? ENGINE_GONE : { ...negotiated, text: negotiated.problem })
  }
  if (negotiated?.ok !== true || !ctx.sessions.has(session.id) || resources.find(resource.id) === undefined) {
    // The session was cut while the engine answered its offer, perhaps before the engine had created it.
    resources.forget(session.id)
    await engine.end(session.id)
    return sendRefusal(reply, ended === undefined ? OVER_ALREADY : endedFor(ended))
  }
  resource.etag = quotedTag(negotiated.etag)
  const base = resourceBase() || forwardedPrefix(ctx.isProxy, reply.request)
  const location = `${base}${endpoint.prefix}/resource/${resource.id}`
  reply.headers({
    Location: location,
    ETag: resource.etag,
    'Accept-Patch': FRAGMENT,
    'Cache-Control': 'no-store',
    // A broadcaster's account comes only from its token. This header tells it where viewers can watch.
    'X-Stream-Id': encodeURI(streamIdOf(session)),
  })
  const links = [...iceLinks(limits.iceServers), ...(isWatched(endpoint) ? [layerLink(location)] : [])]
  if (links.length > 0) reply.header('Link', links)
  return reply.code(201).type(SDP).send(negotiated.answer)
}

/** RFC 9725 section 4.2: any other method gets a 405 with `Allow`. */
function refuseMethod(request: FastifyRequest, reply: FastifyReply, prefix: string, stream: string): FastifyReply {
  const [path = ''] = request.url.slice(prefix.length).split('?', 1)
  const parts = path.replace(/\/$/, '').split('/').length
  const isResource = path.startsWith('/resource/') && parts === 3
  if (!isResource && parts !== stream.split('/').length) {
    return sendRefusal(reply, { status: 404, text: `Not found: the path is ${prefix}${stream}` })
  }
  const allow = isResource ? 'PATCH, DELETE, OPTIONS' : 'POST, OPTIONS'
  reply.header('Allow', allow)
  return sendRefusal(reply, { status: 405, text: `Method not allowed: use ${allow}` })
}
