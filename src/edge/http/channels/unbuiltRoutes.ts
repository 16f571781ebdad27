import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { refusal } from '../../../core/channels/errors.ts'
import { sendChannelFailure } from './problem.ts'

/** Parts of hosted services that Sluice does not have, each with the reason. */
const UNBUILT: readonly (readonly [path: string, why: string])[] = [
  ['/channels/:channelId/custom-endpoints', 'only media of this installation is served'],
  ['/custom-endpoints/:endpointId', 'only media of this installation is served'],
  ['/channels/:channelId/drm/configs', 'media is not encrypted'],
  ['/channels/:channelId/instream-metadata/:uuid', 'metadata is not inserted'],
  ['/regions/:regionId/sdi', 'there are no capture devices'],
  ['/regions/:regionId/ndi', 'there are no NDI sources'],
  ['/enhancements/speech/*', 'speech is not transcribed'],
  [
    '/channels/:channelId/analytics/*',
    'what browsers viewers have is not recorded, only bytes, viewing minutes and transcoding minutes',
  ],
  [
    '/distributions/:distributionId/analytics/*',
    'what browsers viewers have is not recorded, only bytes and viewing minutes',
  ],
  ['/monitoring/*', 'only channels, ingests and engines are monitored'],
]

/**
 * Tells a client of a hosted service which part Sluice lacks, so that a 404 does not look like a wrong path. Answers
 * before the body is read, because the body may have any type.
 */
export function unbuiltRoutes(app: FastifyInstance): void {
  for (const [url, why] of UNBUILT) {
    const refuse = async (_request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
      sendChannelFailure(reply, refusal('not_supported', `This is not built: ${why}`))
    app.route({ method: ['GET', 'POST', 'PATCH', 'DELETE'], url, onRequest: refuse, handler: refuse })
  }
}
