import type { FastifyReply } from 'fastify'
import { countBytes } from '../../../commands/sessions/count.ts'
import { type HttpRefusal, sendRefusal } from '../media/refusal.ts'
import type { HlsParts } from './parts.ts'
import type { HlsViewer } from './viewers.ts'

/** Counts the bytes of an answer for its viewer, and cuts it with the viewer. */
export function attend({ ctx }: HlsParts, viewer: HlsViewer, reply: FastifyReply): void {
  viewer.attend(reply.raw, () => countBytes(ctx, viewer.sessionId, viewer))
}

/** A stream without a publisher is a 404 here, because HLS players take that as "try again". */
export function refuseHls(reply: FastifyReply, refused: HttpRefusal): FastifyReply {
  const { status, text, cacheSeconds } = refused
  reply.header('Cache-Control', cacheSeconds === undefined ? 'no-store' : `public, max-age=${cacheSeconds}`)
  if (status !== 409) return sendRefusal(reply, refused)
  return sendRefusal(reply.header('Retry-After', '2'), { status: 404, text })
}
