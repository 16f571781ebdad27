import type { FastifyReply } from 'fastify'
import { type HttpRefusal, sendRefusal } from '../media/refusal.ts'

/** A stream without a publisher is a 404 here, because HLS players take that as "try again". */
export function refuseHls(reply: FastifyReply, refused: HttpRefusal): FastifyReply {
  const { status, text, cacheSeconds } = refused
  reply.header('Cache-Control', cacheSeconds === undefined ? 'no-store' : `public, max-age=${cacheSeconds}`)
  if (status !== 409) return sendRefusal(reply, refused)
  return sendRefusal(reply.header('Retry-After', '2'), { status: 404, text })
}
