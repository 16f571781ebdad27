import { admitViewer } from '../../../commands/live/admit.ts'
import { approachOf } from './offer.ts'
import type { Door } from './door.ts'
import type { WebRtcParts } from './routes.ts'

/** WebRTC-HTTP egress (draft-ietf-wish-whep): `POST /api/whep/{accountId}/{streamName}`. */
export function whepDoor({ ctx, peerOf, engine }: WebRtcParts): Door {
  return {
    prefix: '/api/whep',
    stream: '/:accountId/:streamName',
    async admit(request, { sourceId }) {
      const { accountId, streamName } = request.params as { accountId: string; streamName: string }
      const approach = approachOf(request, peerOf, { action: 'view', protocol: 'whep', accountId, streamName })
      const admitted = await admitViewer(ctx, approach, { sourceId, cut: ({ id }) => engine.end(id) })
      return admitted.ok ? admitted : { ok: false, status: admitted.status, text: admitted.message }
    },
    negotiate: ({ id, accountId, streamName, sourceId }, { sdp }) =>
      engine.view({ sessionId: id, room: `${accountId}/${streamName}`, sourceId, offer: sdp }),
  }
}
