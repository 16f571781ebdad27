import { sha256 } from '../../base/crypto.ts'
import type { Context } from '../../commands/context.ts'
import { findByStreamKey } from '../../commands/channels/ingests.ts'
import { isUsed } from '../../commands/channels/measurements.ts'
import type { PushedKeys } from '../../services/pushedKeys.ts'
import { parseAddress } from '../../core/access/address.ts'
import type { MeterReading } from '../../core/channels/runs/measured.ts'
import type { FrameSink } from '../../media/frame.ts'
import type { PublishAnswer, PublishRequest } from '../../media/rtmp/types.ts'

export interface StreamKeyParts {
  readonly ctx: Context
  /** Takes the media of an ingest. Another encoder that pushes to it is cut: the newest wins. */
  readonly take: (ingestId: string, cut: (why: string) => Promise<void>) => FrameSink
  readonly pushed: PushedKeys
  readonly meter: Pick<MeterReading, 'connected'>
}

/** Longer than any key that is made; nothing like it is worth a look into the store. */
const KEY_MAX = 128

/**
 * Lets an encoder in that has the key of a push ingest, `rtmp://host/live/{key}`. A second one with the same key takes the
 * first one's place, because an encoder that has lost its connection comes back before the old connection is known to be
 * dead.
 */
export function admitStreamKeys({ ctx, take, pushed, meter }: StreamKeyParts) {
  return async (key: string, request: PublishRequest): Promise<PublishAnswer> => {
    const ingest = key === '' || key.length > KEY_MAX ? undefined : await findByStreamKey(ctx, key)
    if (!ingest) {
      ctx.sampled.encoders.info({ peer: request.peer }, 'an encoder came with a stream key that no ingest has')
      return { ok: false, status: 'Unauthorized: Invalid stream key' }
    }
    const { id } = ingest
    const use = (await isUsed(ctx, ingest)) ? '' : '; none of its engines runs, so that nothing is made of it yet'
    ctx.log.info({ ingest: id, peer: request.peer }, `an encoder pushes to an ingest${use}`)
    const forget = pushed.add({ ingestId: id, keyHash: sha256(key), cut: (why) => request.cut(why) })
    const metered = meter.connected(id, parseAddress(request.peer)?.text ?? null)
    return {
      ok: true,
      sink: take(id, (why) => request.cut(why)),
      bytes: (bytesIn) => metered.received(bytesIn),
      ended: (reason) => {
        forget()
        metered.ended()
        ctx.log.info({ ingest: id, reason }, 'an encoder is gone')
      },
    }
  }
}
