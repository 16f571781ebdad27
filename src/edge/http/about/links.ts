import type { FastifyInstance } from 'fastify'
import type { Context } from '../../../commands/context.ts'
import { lendStream } from '../../../commands/nodes/lendStream.ts'
import { failure } from '../../../core/errors.ts'
import { parseLinkRequest } from '../../../core/nodes/linkRequest.ts'
import type { PeerOf } from '../peer.ts'
import { sendFailure } from '../problem.ts'

const BODY_MAX_BYTES = 4096
const CODES = {
  401: 'unauthorized',
  404: 'not_found',
  409: 'conflict',
  429: 'rate_limited',
  503: 'unavailable',
} as const

/** Where other nodes ask for streams of this one. It takes no secret of an account: requests are signed with the key of the installation. */
export function linkRoutes(app: FastifyInstance, ctx: Context, peerOf: PeerOf): void {
  app.post('/api/links', { bodyLimit: BODY_MAX_BYTES }, async (request, reply) => {
    reply.header('Cache-Control', 'no-store')
    const asked = parseLinkRequest(request.body)
    if (!asked.ok) return sendFailure(reply, failure('bad_request', `No request of a node: ${asked.error}`))
    const lent = await lendStream(ctx, asked.value)
    if (lent.ok) return reply.send(lent.value)
    const { status, why } = lent.error
    const address = peerOf(request.socket.remoteAddress, request.headers).text
    if (status === 401) ctx.sampled.refusals.warn({ address, node: asked.value.from }, `a link was refused: ${why}`)
    // A stranger learns nothing of what is wrong.
    return sendFailure(reply, failure(CODES[status], status === 401 ? 'Unauthorized' : why))
  })
}
