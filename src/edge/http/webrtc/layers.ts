import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isObject } from '../../../base/objects.ts'
import { err, ok, type Result } from '../../../base/result.ts'
import type { LayersAnswer } from '../../../media/engine.ts'
import { sendPreflight } from '../media/cors.ts'
import { sendRefusal } from '../media/refusal.ts'
import type { SignalingParts } from './parts.ts'
import type { SignalingResource } from './resources.ts'

/** The relation of `Link` that leads to the layers (draft-ietf-wish-whep-00, section 4.6.2). */
const RELATION = 'urn:ietf:params:whep:ext:core:layer'

export const layerLink = (resourceUrl: string): string => `<${resourceUrl}/layer>; rel="${RELATION}"`

const MAX_BODY_BYTES = 1024
/** Concurrent requests of one session, those for other purposes included. */
const MAX_AT_A_TIME = 8
/** A RID has no more characters in any browser, and a publisher's are in its offer. */
const MAX_ENCODING_ID = 64

type LayerRequest = { Params: { id: string } }

/** `GET` lists the layers of what a viewer watches, `POST {"encodingId": "…"}` chooses one, without it the bandwidth decides. */
export function layerRoutes(app: FastifyInstance, parts: SignalingParts): void {
  const path = '/resource/:id/layer'
  app.options(path, (request, reply) => sendPreflight(request, reply, 'GET, POST, OPTIONS'))
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => done(null, body))
    scope.get<LayerRequest>(path, (request, reply) => answer(parts, request, reply, undefined))
    scope.post<LayerRequest>(path, { bodyLimit: MAX_BODY_BYTES }, (request, reply) => {
      const choice = readChoice(request.body)
      if (!choice.ok) return sendRefusal(reply, { status: 400, text: `Bad request: ${choice.error}` })
      return answer(parts, request, reply, choice.value)
    })
  })
}

async function answer(
  { engine, resources }: SignalingParts,
  { params }: FastifyRequest<LayerRequest>,
  reply: FastifyReply,
  choice: string | null | undefined,
): Promise<FastifyReply> {
  const resource = resources.find(params.id)
  if (resource === undefined) return sendRefusal(reply, resources.goneAs(params.id))
  if (resource.patching >= MAX_AT_A_TIME)
    return sendRefusal(reply, { status: 429, text: 'Too many requests at a time' })
  const answered = await layersOf(engine, resource, choice)
  if (!answered.ok) return sendRefusal(reply, { status: answered.status, text: answered.problem })
  const { layers, chosen, sent } = answered
  return reply.header('Cache-Control', 'no-store').send({ layers, chosen, sent })
}

async function layersOf(
  engine: SignalingParts['engine'],
  resource: SignalingResource,
  choice: string | null | undefined,
): Promise<LayersAnswer> {
  resource.patching++
  try {
    return await engine.layers(resource.sessionId, choice)
  } finally {
    resource.patching--
  }
}

/** The `encodingId` of a body, null for none; or what is wrong with the body. */
function readChoice(body: unknown): Result<string | null, string> {
  const read = jsonObject(typeof body === 'string' ? body : '')
  if (read === null) return err('the body must be a JSON object')
  const { encodingId = null, mediaId, ...others } = read
  const [other] = Object.keys(others)
  if (other !== undefined) return err(`${other.slice(0, MAX_ENCODING_ID)} is not supported`)
  if (mediaId !== undefined && typeof mediaId !== 'string') return err('mediaId must be a string')
  if (encodingId === null) return ok(null)
  const isName = typeof encodingId === 'string' && encodingId.length <= MAX_ENCODING_ID
  return isName ? ok(encodingId) : err(`encodingId must be a string of at most ${MAX_ENCODING_ID} characters`)
}

function jsonObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}
