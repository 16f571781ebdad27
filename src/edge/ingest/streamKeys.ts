import { sha256 } from '../../base/crypto.ts'
import type { Context } from '../../commands/context.ts'
import { DRAINING } from '../../commands/sessions/feedFor.ts'
import { startWithKey } from '../../commands/sessions/slotReservation.ts'
import { findByStreamKey } from '../../commands/channels/ingests.ts'
import { isUsed } from '../../commands/channels/measurements.ts'
import type { PushedKeys } from '../../services/pushedKeys.ts'
import { parseAddress } from '../../core/access/address.ts'
import type { Protocol } from '../../core/access/protocols.ts'
import { SESSION_LIMITS } from '../../core/access/refusals.ts'
import type { Said } from '../../core/notices.ts'
import type { MeterReading } from '../../core/channels/runs/measured.ts'
import type { FrameSink } from '../../media/frame.ts'
import type { PublishAnswer, PublisherConnection } from '../../media/publishing.ts'

/** Other servers have all streams below `live/`. */
const HINTS: Partial<Record<Protocol, string>> = {
  rtmp: '; with a publish token, publish to rtmp://HOST/v2/pub/STREAM?token=TOKEN',
}

export interface StreamKeyParts {
  readonly ctx: Context
  /** Takes the media of an ingest. The newest publisher wins; a previous one is cut. */
  readonly take: (ingestId: string, cut: (why: string) => Promise<void>) => FrameSink
  /** Tells the engines of an ingest why its publisher was cut. */
  readonly refused: (ingestId: string, why: Said) => void
  readonly pushed: PushedKeys
  readonly meter: Pick<MeterReading, 'connected'>
}

/**
 * Admits a publisher that has the key of a push ingest, such as `rtmp://host/live/{key}`, or the stream id `live/{key}`. A
 * second publisher with the same key replaces the first: after a lost connection a publisher reconnects before the server
 * notices that the old connection is dead.
 */
export function admitStreamKeys({ ctx, take, refused, pushed, meter }: StreamKeyParts) {
  return async (key: string, protocol: Protocol, connection: PublisherConnection): Promise<PublishAnswer> => {
    const ingest = await findByStreamKey(ctx, key, protocol)
    if (!ingest) {
      ctx.sampled.publishers.info({ peer: connection.peer }, 'a publisher used an unknown stream key')
      return { ok: false, status: `Unauthorized: Invalid stream key${HINTS[protocol] ?? ''}`, reason: 'unauthorized' }
    }
    const { id } = ingest
    if (ctx.sessions.drain !== null) return { ok: false, status: DRAINING, reason: 'unavailable' }
    const address = parseAddress(connection.peer)
    if (address !== null && !startWithKey(ctx, address, id))
      return { ok: false, status: SESSION_LIMITS.too_many_starts.text, reason: 'limit' }
    const use = (await isUsed(ctx, ingest)) ? '' : '; none of its engines is running yet'
    ctx.sampled.publishers.info({ ingest: id, peer: connection.peer }, `a publisher pushes to an ingest${use}`)
    const forget = pushed.add({
      ingestId: id,
      connectedAtMs: ctx.clock.now(),
      rules: { keyHash: sha256(key), type: ingest.type, audio: ingest.audio },
      cut: (why) => connection.cut(why),
      askToMove: connection.askToMove,
    })
    const metered = meter.connected(id, address?.text ?? null)
    return {
      ok: true,
      sink: take(id, (why) => connection.cut(why)),
      audioNumbers: ingest.audio.map(({ pid }) => pid),
      bytes: (bytesIn, link) => metered.received(bytesIn, link),
      ended: (reason, why) => {
        forget()
        metered.ended()
        const { message: text } = why ?? {}
        ctx.sampled.publishers.info({ ingest: id, reason, why: text }, 'a publisher disconnected')
        if (why !== undefined) refused(id, why)
      },
    }
  }
}
