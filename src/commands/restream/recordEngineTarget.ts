import { isoTime } from '../../base/time.ts'
import type { TargetNews } from '../../core/restream/state.ts'
import type { TargetReport } from '../../services/restreams.ts'
import { partObject } from '../channels/channelCommand.ts'
import { emitChannelEvents } from '../channels/webhooks/emit.ts'
import type { CommandContext } from '../context.ts'
import { engineTargetEvents } from './engineTargetEvents.ts'

interface OfEngine {
  readonly accountId: string
  readonly channelId: string
  readonly engineId: string
}

interface EngineNews {
  readonly news: TargetNews
  /** It was tried before. That may have been written, and the answer lost. */
  readonly isAgain: boolean
}

/** The latest news of all targets of an engine, of which each may have some since. */
const LOOKED_BACK = 100

/** Tells webhooks and logs of the channels interface what became of a target of an engine, as an entry of the engine's log. */
export async function recordEngineTarget(
  { store }: Pick<CommandContext, 'store'>,
  of: OfEngine,
  target: TargetReport,
  { news, isAgain }: EngineNews,
): Promise<void> {
  if (isAgain && (await isOnRecord(store, of, target))) return
  const { accountId, channelId, engineId } = of
  return store.transaction(async (tx) => {
    const channel = await tx.channels.get(accountId, channelId)
    const engine = await tx.engines.get(accountId, engineId)
    if (!channel || !engine) return
    const { label, url, index, state } = target
    await emitChannelEvents(
      tx,
      { accountId, atMs: state.sinceMs },
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

async function isOnRecord(
  store: CommandContext['store'],
  { accountId, engineId }: OfEngine,
  { url, state }: TargetReport,
): Promise<boolean> {
  const latest = await engineTargetEvents({ store }, accountId, engineId, LOOKED_BACK)
  const at = isoTime(state.sinceMs)
  return latest.some((event) => event.url === url && event.status === state.status && event.at === at)
}

function sentenceOf({ label, url, state }: TargetReport, news: TargetNews): string {
  const name = label || new URL(url).host
  if (news === 'started') return `The target ${name} takes what the engine makes`
  if (news === 'ended') return `Nothing is sent to the target ${name} any more`
  return `Nothing can be sent to the target ${name}: ${state.problem?.message ?? ''}`
}
