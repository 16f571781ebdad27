import { admitPublisher, noteUnknownParameters } from '../../../commands/sessions/admit.ts'
import { streamIdOf } from '../../../core/streams/streamId.ts'
import { cutOf } from './cut.ts'
import { attemptOf } from './offer.ts'
import type { SignalingEndpoint, WebRtcParts } from './parts.ts'

/** WebRTC-HTTP ingestion, RFC 9725: `POST /api/whip/{streamName}`. The account comes from the token. */
export function whipEndpoint({ ctx, peerOf, engine, resources, handover }: WebRtcParts): SignalingEndpoint {
  return {
    protocol: 'whip',
    prefix: '/api/whip',
    stream: '/:streamName',
    pendingShare: 1,
    async admit(request, { sourceId, parameters }) {
      const { streamName } = request.params as { streamName: string }
      const target = { action: 'publish', protocol: 'whip', accountId: null, streamName } as const
      const { attempt, isHandedOver } = handover.received(request, attemptOf(request, peerOf, target))
      const { record, noRestream, priority } = parameters
      const admitted = await admitPublisher(ctx, attempt, {
        sourceId,
        followsRedirects: !isHandedOver,
        record,
        noRestream,
        priority,
        show({ sessionId }) {
          engine.setAside(sessionId, false)
          return () => engine.setAside(sessionId, true)
        },
        cut: cutOf({ engine, resources }),
      })
      if (admitted.ok) noteUnknownParameters(ctx, admitted.session, parameters)
      if (admitted.ok) return { ...admitted, attempt }
      return { ok: false, ...handover.refusalOf(admitted, request, attempt) }
    },
    negotiate({ id, accountId, streamName, sourceId }, { sdp, codec, parameters: { without } }) {
      const room = streamIdOf({ accountId, streamName })
      const { priority = null } = ctx.sessions.get(id)?.standing ?? {}
      return engine.publish({ sessionId: id, room, sourceId, offer: sdp, codec, without, priority })
    },
  }
}
