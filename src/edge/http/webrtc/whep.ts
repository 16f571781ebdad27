import { admitViewer } from '../../../commands/sessions/admit.ts'
import { streamIdOf } from '../../../core/streams/streamId.ts'
import { cutOf } from './cut.ts'
import { attemptOf } from './offer.ts'
import type { SignalingEndpoint, WebRtcParts } from './parts.ts'

/** Leaves room for publishers: a crowd of viewers must not make the server busy for them. */
const SHARE = 7 / 8

/** WebRTC-HTTP egress (draft-ietf-wish-whep): `POST /api/whep/{accountId}/{streamName}`. */
export function whepEndpoint(parts: WebRtcParts): SignalingEndpoint {
  const { ctx, peerOf, engine, resources, handover, pending, encodingRefusalOf } = parts
  return {
    protocol: 'whep',
    prefix: '/api/whep',
    stream: '/:accountId/:streamName',
    pendingShare: SHARE,
    async admit(request, { sourceId }) {
      const { accountId, streamName } = request.params as { accountId: string; streamName: string }
      const target = { action: 'view', protocol: 'whep', accountId, streamName } as const
      const { attempt, isHandedOver } = handover.received(request, attemptOf(request, peerOf, target))
      const userAgent = request.headers['user-agent']
      const admitted = await admitViewer(ctx, attempt, {
        sourceId,
        isHandedOver,
        followsRedirects: !isHandedOver,
        userAgent,
        cut: cutOf({ engine, resources }),
        whileWaiting: (wait) => pending.aside(SHARE, wait),
      })
      return admitted.ok ? { ...admitted, attempt } : { ok: false, ...handover.refusalOf(admitted, request, attempt) }
    },
    async negotiate({ id, accountId, streamName, sourceId }, { sdp }) {
      const room = streamIdOf({ accountId, streamName })
      const negotiated = await engine.view({ sessionId: id, room, sourceId, offer: sdp })
      if (negotiated.ok || negotiated.status !== 406) return negotiated
      const why = encodingRefusalOf(accountId, streamName, sourceId)
      return why === null ? negotiated : { ...negotiated, problem: `${negotiated.problem} ${why}.` }
    },
  }
}
