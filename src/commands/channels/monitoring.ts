import { err, ok } from '../../base/result.ts'
import { noSuch } from '../../core/channels/errors.ts'
import type { ChannelMonitoring } from '../../core/channels/monitoringSchema.ts'
import { INGEST_FACTS } from '../../core/channels/types.ts'
import type { ChannelContext } from '../context.ts'
import type { Viewers } from '../../services/viewers.ts'
import { type ChannelResult, isId } from './channelCommand.ts'

/** The state of a channel and all of its parts in one answer: at most 1000 of each kind. */
export async function monitorChannel(
  ctx: ChannelContext,
  viewers: Pick<Viewers, 'of'>,
  accountId: string,
  id: string,
): ChannelResult<ChannelMonitoring> {
  const { read } = ctx.store
  const channel = isId(id) ? await read.channels.get(accountId, id) : undefined
  if (!channel) return err(noSuch('channel', id))
  const [ingests, engines, distributions] = await Promise.all([
    read.ingests.ofChannel(id),
    read.engines.ofChannel(id),
    read.distributions.ofChannel(id),
  ])
  return ok({
    id,
    name: channel.name,
    status: channel.status,
    ingests: ingests.map((ingest) => ({ id: ingest.id, protocol: INGEST_FACTS[ingest.type].protocol })),
    engines: engines.map(({ id: engineId, status, statusMessage }) => ({
      id: engineId,
      status,
      ...(statusMessage === null ? {} : { statusMessage: statusMessage.text }),
    })),
    distributions: distributions.map((one) => ({
      id: one.id,
      status: one.enabled ? 'enabled' : 'disabled',
      viewers: viewers.of(one.id),
    })),
  })
}
