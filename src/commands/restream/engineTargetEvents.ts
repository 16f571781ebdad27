import { isoTime } from '../../base/time.ts'
import type { StoredChannelEvent } from '../../core/channels/webhooks/events.ts'
import type { TargetStatus } from '../../core/restream/state.ts'
import type { ChannelEvent } from '../../store/store.ts'
import { nodeNameOf, remoteEngine } from '../channels/remoteEngine.ts'
import type { ChannelContext } from '../context.ts'

/** News of a target of an engine, as its log has it. */
export interface EngineTargetEvent {
  /** The id of the target. */
  readonly id: string
  readonly label: string
  readonly url: string
  readonly status: TargetStatus
  /** A sentence. Absent: nothing is wrong. */
  readonly problem?: string
  readonly at: string
}

/** A target of an engine, by the latest news of it. */
export interface EngineTargetNow extends Pick<EngineTargetEvent, 'id' | 'label' | 'url' | 'status' | 'problem'> {
  /** Its place in `restream`, from 0. */
  readonly index: number
  /** Absent: there was no news. */
  readonly since?: string
  /** The node that the engine runs at, which knows bitrates. Null: it does not run. */
  readonly node: string | null
}

/** The most events of an account that are looked through, and how many at once. */
const LOOKED_MAX = 10_000
const AT_ONCE = 500

/** The latest news of the targets of an engine, the newest first. */
export async function engineTargetEvents(
  ctx: Pick<ChannelContext, 'store'>,
  accountId: string,
  engineId: string,
  limit: number,
): Promise<EngineTargetEvent[]> {
  const found: EngineTargetEvent[] = []
  for await (const event of newestEvents(ctx, accountId, engineId)) {
    found.push(event)
    if (found.length >= limit) break
  }
  return found
}

async function* newestEvents(
  { store }: Pick<ChannelContext, 'store'>,
  accountId: string,
  engineId: string,
): AsyncGenerator<EngineTargetEvent> {
  const types = ['engine.log.info', 'engine.log.warn'] as const
  let last: ChannelEvent | undefined
  for (let looked = 0; looked < LOOKED_MAX; looked += AT_ONCE) {
    const page = await store.read.channelEvents.page({
      accountId,
      types,
      descending: true,
      limit: AT_ONCE,
      ...(last === undefined ? {} : { after: { atMs: last.atMs, id: last.id } }),
    })
    yield* page.flatMap((event) => newsOf(event, engineId))
    last = page.at(-1)
    if (page.length < AT_ONCE) return
  }
}

/** The targets of an engine now; undefined: there is no such engine. */
export async function engineTargets(
  ctx: Pick<ChannelContext, 'store'>,
  accountId: string,
  engineId: string,
): Promise<EngineTargetNow[] | undefined> {
  const engine = await ctx.store.read.engines.get(accountId, engineId)
  if (engine === undefined) return undefined
  const latest = new Map<string, EngineTargetEvent>()
  for await (const event of newestEvents(ctx, accountId, engineId)) {
    if (!latest.has(event.id)) latest.set(event.id, event)
    if (engine.restream.every(({ id }) => latest.has(id))) break
  }
  const remote = engine.status === 'stopped' ? null : await remoteEngine(ctx, '', engineId)
  const node = remote && nodeNameOf(remote)
  return engine.restream.map(({ id, label, url }, index) => {
    const { status = 'off', problem, at } = latest.get(id) ?? {}
    return {
      index,
      id,
      label,
      url,
      status: node === null ? 'off' : status,
      ...(at === undefined ? {} : { since: at }),
      ...(problem === undefined ? {} : { problem }),
      node,
    }
  })
}

/** What `recordEngineTarget` wrote; empty for every other event. */
function newsOf({ data, atMs }: ChannelEvent, engineId: string): EngineTargetEvent[] {
  const { object, data: about } = JSON.parse(data) as StoredChannelEvent
  const { code, message, target } = (about ?? {}) as { code?: string; message?: string; target?: EngineTargetEvent }
  if (object.id !== engineId || target === undefined) return []
  const { id, label, url, status } = target
  const problem = code === 'restream_error' && message !== undefined ? { problem: message } : {}
  return [{ id, label, url, status, ...problem, at: isoTime(atMs) }]
}
