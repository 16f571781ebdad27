import { admitPublisher } from '../../../commands/live/admit.ts'
import { approachOf } from './offer.ts'
import type { Door } from './door.ts'
import type { WebRtcParts } from './routes.ts'

/** WebRTC-HTTP ingestion, RFC 9725: `POST /api/whip/{streamName}`. The token says whose stream it is. */
export function whipDoor({ ctx, peerOf, engine }: WebRtcParts): Door {
  return {
    prefix: '/api/whip',
    stream: '/:streamName',
    pendingShare: 1,
    async admit(request, { sourceId }) {
      const { streamName } = request.params as { streamName: string }
      const approach = approachOf(request, peerOf, { action: 'publish', protocol: 'whip', accountId: null, streamName })
      const admitted = await admitPublisher(ctx, approach, { sourceId, cut: ({ id }) => engine.end(id) })
      if (admitted.ok) return admitted
      const { status, message: text, retryAfterSeconds } = admitted
      return { ok: false, status, text, retryAfterSeconds }
    },
    negotiate: ({ id, accountId, streamName, sourceId }, { sdp, codec }) =>
      engine.publish({ sessionId: id, room: `${accountId}/${streamName}`, sourceId, offer: sdp, codec }),
  }
}
