import { isoTime } from '../../base/time.ts'
import type { Fields } from '../../base/log.ts'
import type { ClosingSession } from '../../media/sessionRegistry.ts'

/**
 * The log line of an ended session; `docs/reference/logs.md` lists the fields. It leaves out the address: queries group by
 * its family and country, and the list of sessions has the rest.
 */
export function sessionLine(node: string, { entry, reason, atMs }: ClosingSession): Fields {
  const { session, bytes, request } = entry
  return {
    node,
    sessionId: session.id,
    action: session.action,
    protocol: session.protocol,
    accountId: session.accountId,
    streamName: session.streamName,
    sourceId: session.sourceId,
    tokenId: session.tokenId,
    isSelfSigned: request.credential.kind === 'selfSigned',
    jti: session.jti,
    trackingId: session.trackingId,
    addressFamily: request.address.family,
    country: session.country,
    origin: session.origin,
    startedAt: isoTime(session.startedAtMs),
    durationMs: atMs - session.startedAtMs,
    bytesIn: bytes.bytesIn,
    bytesOut: bytes.bytesOut,
    reason,
  }
}
