import type { TargetNews } from '../../core/restream/state.ts'
import type { TargetReport } from '../../services/restreams.ts'
import { partObject } from '../channels/channelCommand.ts'
import { emitChannelEvents } from '../channels/webhooks/emit.ts'
import type { CommandContext } from '../context.ts'

interface OfEngine {
  readonly accountId: string
  readonly channelId: string
  readonly engineId: string
}

/** Tells webhooks and logs of the channels interface what became of a target of an engine, as an entry of the engine's log. */
export function recordEngineTarget(
  { store, clock }: Pick<CommandContext, 'store' | 'clock'>,
  { accountId, channelId, engineId }: OfEngine,
  target: TargetReport,
  news: TargetNews,
): Promise<void> {
  return store.transaction(async (tx) => {
    const channel = await tx.channels.get(accountId, channelId)
    const engine = await tx.engines.get(accountId, engineId)
    if (!channel || !engine) return
    const { label, url, index, state } = target
    await emitChannelEvents(
      tx,
      { accountId, atMs: clock.now() },
      {
        name: news === 'error' ? 'engine.log.warn' : 'engine.log.info',
        object: partObject('engine', engine, channel),
        data: {
          message: sentenceOf(target, news),
          code: `restream_${news}`,
          target: { id: engine.restream[index]?.id ?? null, label, url, status: state.status },
        },
      },
    )
  })
}

function sentenceOf({ label, url, state }: TargetReport, news: TargetNews): string {
  const name = label || new URL(url).host
  if (news === 'started') return `The target ${name} takes what the engine makes`
  if (news === 'ended') return `Nothing is sent to the target ${name} any more`
  return `Nothing can be sent to the target ${name}: ${state.message ?? ''}`
}
