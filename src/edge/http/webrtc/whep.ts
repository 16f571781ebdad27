import { admitViewer } from '../../../commands/live/admit.ts'
import { approachOf } from './offer.ts'
import type { Door } from './door.ts'
import type { WebRtcParts } from './routes.ts'

/** WebRTC-HTTP egress (draft-ietf-wish-whep): `POST /api/whep/{accountId}/{streamName}`. */
export function whepDoor({ ctx, peerOf, engine, handover }: WebRtcParts): Door {
  return {
    prefix: '/api/whep',
    stream: '/:accountId/:streamName',
    // However many viewers come at once, a publisher is not told that the server is busy.
    pendingShare: 7 / 8,
    async admit(request, { sourceId }) {
      const { accountId, streamName } = request.params as { accountId: string; streamName: string }
      const wish = { action: 'view', protocol: 'whep', accountId, streamName } as const
      const { approach, isHandedOver } = handover.received(request, approachOf(request, peerOf, wish))
      const admitted = await admitViewer(ctx, approach, { sourceId, isHandedOver, cut: ({ id }) => engine.end(id) })
      return admitted.ok ? admitted : { ok: false, ...handover.refusalOf(admitted, request, approach) }
    },
    negotiate: ({ id, accountId, streamName, sourceId }, { sdp }) =>
      engine.view({ sessionId: id, room: `${accountId}/${streamName}`, sourceId, offer: sdp }),
  }
}
