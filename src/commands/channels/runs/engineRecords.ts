import {
  type EngineEffect,
  type EngineEvent,
  type EngineState,
  INITIAL_STATE,
  isTimedOut,
} from '../../../core/channels/runs/engine.ts'
import type { MissingPart, TranscodeJob, TranscodeLog } from '../../../core/channels/runs/transcoder.ts'
import { type Engine, isPush } from '../../../core/channels/types.ts'
import { coded } from '../../../core/notices.ts'
import type { EngineRecords, SupervisedEngine } from '../../../services/engineSupervisor.ts'
import type { StoredEngineState, Tx } from '../../../store/store.ts'
import type { ChannelContext, SessionContext } from '../../context.ts'
import { partObject } from '../channelCommand.ts'
import { sourceOf } from '../ingests.ts'
import { ladderOf } from '../ladders.ts'
import { emitChannelEvents } from '../webhooks/emit.ts'
import { adoptEngine, type EngineNode, handOverEngine, releaseEngine } from './adopt.ts'
import { publisherNodes } from './ingestClaims.ts'
import { idleSince, lockEngines, stepEngines } from './step.ts'

/** What the supervisor of a node's engines reads and writes. */
export const engineRecords = (ctx: ChannelContext & Pick<SessionContext, 'time'>, at: EngineNode): EngineRecords => ({
  async busy() {
    const { read } = ctx.store
    const states = await read.engineStates.busy()
    const { near = [], far = [] } = Object.groupBy(states, nearness(at, states))
    const engines = new Map((await read.engines.all(near.map(({ engineId }) => engineId))).map((one) => [one.id, one]))
    const found = near.map((state) => ({ state, engine: engines.get(state.engineId) }))
    const publisherAt = await publisherNodes(ctx, at, found)
    const overdue = await overdueChannels(ctx, found)
    return [
      ...found.map((one) => ({
        ...one,
        publisherAt: publisherAt(one.engine),
        isOverdue: overdue.has(one.state.channelId),
      })),
      ...far.map((state) => ({ state, engine: undefined, publisherAt: null, isOverdue: false })),
    ]
  },
  adopt: (state) => adoptEngine(ctx, at, state),
  handOver: (engine, node) => handOverEngine(ctx, at, engine, node),
  release: (state) => releaseEngine(ctx, at.node, state),
  apply: (engine, event) => applyEvent(ctx, at.node, engine, event),
  log: (engine, line) => writeLog(ctx, engine, line),
  ladderOf: (engine) => ladderOf(ctx, engine.accountId, engine.abrLadderId),
  jobOf: (engine) => jobOf(ctx, engine),
  timeOut: (accountId, channelId) => ctx.store.transaction((tx) => timeOut(ctx, tx, accountId, channelId)),
})

/** `far`: channels that other nodes run, all of which are alive. With many nodes those are most, and each node looks once a second. */
function nearness({ node, isGone }: EngineNode, states: readonly StoredEngineState[]) {
  const isOurs = (state: StoredEngineState): boolean =>
    state.node === null || state.node === node || state.isExpired || isGone(state.node)
  const channels = new Set(states.filter(isOurs).map(({ channelId }) => channelId))
  return ({ channelId }: StoredEngineState): 'near' | 'far' => (channels.has(channelId) ? 'near' : 'far')
}

type Found = Pick<SupervisedEngine, 'state' | 'engine'>

/** Those whose engines wait for a source for longer than the channel allows. A transaction decides. */
async function overdueChannels(ctx: ChannelContext, found: readonly Found[]): Promise<ReadonlySet<string>> {
  const channels = Map.groupBy(found, ({ state }) => state.channelId)
  const idle = [...channels].filter(([, engines]) => engines.some(({ state }) => state.idleSinceMs !== null))
  const timeouts = await ctx.store.read.channels.timeouts(idle.map(([id]) => id))
  const overdue = idle.filter(([id, engines]) =>
    isTimedOut(
      engines.flatMap(({ state, engine }) => (engine ? [engineState(ctx, engine, state)] : [])),
      timeouts.get(id) ?? 0,
      ctx.clock.now(),
    ),
  )
  return new Set(overdue.map(([id]) => id))
}

/** @param stored undefined: it never ran */
const engineState = (
  ctx: ChannelContext,
  { status, statusMessage: message }: Engine,
  stored?: StoredEngineState,
): EngineState =>
  stored === undefined
    ? { ...INITIAL_STATE, status, message }
    : { ...stored, status, message, idleSinceMs: idleSince(ctx, stored) }

function applyEvent(
  ctx: ChannelContext,
  node: string,
  { accountId, channelId, id }: Engine,
  event: EngineEvent,
): Promise<readonly EngineEffect[]> {
  return ctx.store.transaction(async (tx) => {
    const of = await lockEngines(tx, accountId, channelId)
    if (of?.states.get(id)?.node !== node) return []
    const engine = of.engines.filter((one) => one.id === id)
    return stepEngines(ctx, tx, of, engine, event)
  })
}

function writeLog(
  ctx: ChannelContext,
  { accountId, channelId, id }: Engine,
  { level, message, code }: TranscodeLog,
): Promise<void> {
  ctx.log[level]({ engine: id, channel: channelId }, message)
  return ctx.store.transaction(async (tx) => {
    const [channel, engine] = [await tx.channels.get(accountId, channelId), await tx.engines.get(accountId, id)]
    const on = { accountId, atMs: ctx.clock.now() }
    if (!channel || !engine) return
    await emitChannelEvents(tx, on, {
      name: `engine.log.${level}`,
      object: partObject('engine', engine, channel),
      data: { message, ...(code === undefined ? {} : { code }) },
    })
  })
}

async function jobOf(
  ctx: ChannelContext,
  { id, name, accountId, channelId, ingestId, abrLadderId }: Engine,
): Promise<TranscodeJob | MissingPart> {
  const { read } = ctx.store
  const ingest = ingestId === null ? undefined : await read.ingests.get(accountId, ingestId)
  const ladder = await ladderOf(ctx, accountId, abrLadderId)
  if (!ingest) return { missing: coded('engine_without_ingest') }
  if (!ladder) return { missing: coded('engine_without_ladder') }
  const source = isPush(ingest.type)
    ? ({ kind: 'push', ingestId: ingest.id } as const)
    : ({ kind: 'pull', ingestId: ingest.id, url: sourceOf(ctx, ingest) } as const)
  return { engineId: id, channelId, accountId, name: `engine ${id} ${name}`, source, audio: ingest.audio, ladder }
}

async function timeOut(ctx: ChannelContext, tx: Tx, accountId: string, channelId: string): Promise<boolean> {
  const of = await lockEngines(tx, accountId, channelId)
  if (!of) return false
  const { channel, engines, states } = of
  const running = engines.map((engine) => engineState(ctx, engine, states.get(engine.id)))
  if (!isTimedOut(running, channel.timeoutSeconds, ctx.clock.now())) return false
  await stepEngines(ctx, tx, of, engines, { kind: 'stop', cause: { type: 'timeout', id: '' } })
  return true
}
