import { momentOf, settledSpan } from '../../../base/clock.ts'
import { prefixedId } from '../../../base/ids.ts'
import {
  advanceEngine,
  type Cause,
  type EngineEffect,
  type EngineEvent,
  type EngineState,
} from '../../../core/channels/runs/engine.ts'
import { type Channel, type Engine, statusOf } from '../../../core/channels/types.ts'
import type { EventObject, ChannelEventName } from '../../../core/channels/webhooks/events.ts'
import type { EngineStateRecord, RunConfig, Tx } from '../../../store/store.ts'
import type { ChannelContext } from '../../context.ts'
import { emitStreamEvent } from '../../webhooks/emit.ts'
import { emitChannelEvent } from '../webhooks/emit.ts'

export type EngineContext = Pick<ChannelContext, 'clock' | 'random' | 'runStarts'>

/**
 * Applies an event to an engine. Writes its next state, its run, the status of its channel and the events together. The
 * channel must be locked.
 * @returns what the caller has to do after the commit
 */
export async function stepEngine(
  ctx: EngineContext,
  tx: Tx,
  channel: Pick<Channel, 'id' | 'accountId' | 'name'>,
  engineId: string,
  event: EngineEvent,
): Promise<readonly EngineEffect[]> {
  const engine = await tx.engines.get(channel.accountId, engineId)
  if (!engine) return []
  const nowMs = ctx.clock.now()
  const stored = (await tx.engineStates.get(engineId)) ?? initialState(engine)
  const before: EngineState = { ...stored, status: engine.status, message: engine.statusMessage }
  const { state, effects } = advanceEngine(before, event, nowMs)
  if (effects.length === 0 && state === before) return effects
  const { idleSinceMs, failures, retryAtMs } = state
  const after: EngineStateRecord = { ...stored, idleSinceMs, failures, retryAtMs, wanted: isWanted(stored, event) }
  for (const effect of effects) {
    if (effect.do === 'openRun') after.runId = await openRun(ctx, tx, engine, effect.cause)
    if (effect.do === 'closeRun' && after.runId) await closeRun(ctx, tx, after.runId, effect.cause, event)
  }
  await tx.engineStates.put(after)
  await tx.engines.setStatus(engineId, state.status, state.message)
  await emitEvent(tx, channel, { ...engine, status: state.status, statusMessage: state.message }, effects, nowMs)
  await followEngines(tx, channel, nowMs)
  return effects
}

/** A server that stops leaves the engine wanted, so that the next process starts it again. */
function isWanted({ wanted }: EngineStateRecord, event: EngineEvent): boolean {
  if (event.kind === 'start') return true
  return event.kind === 'stop' && event.cause.type !== 'shutdown' ? false : wanted
}

const initialState = ({ id, accountId, channelId }: Engine): EngineStateRecord => ({
  engineId: id,
  accountId,
  channelId,
  wanted: false,
  idleSinceMs: null,
  failures: 0,
  retryAtMs: null,
  node: null,
  runId: null,
})

async function openRun(ctx: EngineContext, tx: Tx, engine: Engine, start: Cause): Promise<string> {
  const { id: engineId, accountId, channelId } = engine
  const began = momentOf(ctx.clock)
  const nowMs = began.wallMs
  const id = prefixedId('rn', nowMs, ctx.random)
  ctx.runStarts.note(id, began)
  const open = { stop: null, keptBy: null, startedAtMs: nowMs, endedAtMs: null, heartbeatAtMs: nowMs }
  const config = await configOf(tx, engine)
  await tx.runs.insert({ id, accountId, channelId, engineId, config, start, ...open })
  return id
}

/** Leaves out the source URL, because any part of a URL may contain a key. */
async function configOf(tx: Tx, { accountId, ingestId, abrLadderId }: Engine): Promise<RunConfig> {
  const ingest = ingestId === null ? undefined : await tx.ingests.get(accountId, ingestId)
  return { ingest: { type: ingest?.type ?? 'rtmp-push' }, abrLadderId, drm: false }
}

/**
 * The run of a dead node ends at the last renewal of its lease. Other ends are the start and the time since, if this
 * process has seen the start.
 */
export async function closeRun(
  { clock, runStarts }: EngineContext,
  tx: Tx,
  runId: string,
  cause: Cause,
  event: Pick<EngineEvent, 'kind'>,
): Promise<void> {
  const run = await tx.runs.get(runId)
  if (!run) return
  const endedAtMs = event.kind === 'lost' ? run.heartbeatAtMs : runStarts.dateOf(runId, clock)
  await tx.runs.end(runId, cause, settledSpan({ startedAtMs: run.startedAtMs, endedAtMs }, clock.now()))
}

type Named = Pick<Channel, 'id' | 'name'>

export const engineObject = (channel: Named, { id, name }: Named): EventObject => ({
  type: 'engine',
  id,
  name,
  parent: { type: 'channel', id: channel.id, name: channel.name },
})

async function emitEvent(
  tx: Tx,
  channel: Pick<Channel, 'id' | 'name'>,
  engine: Engine,
  effects: readonly EngineEffect[],
  atMs: number,
): Promise<void> {
  const on = { accountId: engine.accountId, atMs }
  const object = engineObject(channel, engine)
  for (const effect of effects) {
    if (effect.do === 'tell') {
      const data = effect.status === 'error' ? { message: engine.statusMessage } : null
      await emitChannelEvent(tx, on, { name: `engine.${effect.status}`, object, data })
      if (data) await emitChannelEvent(tx, on, { name: 'engine.log.error', object, data })
    }
    const event = transcoderEvent(effect)
    if (event === null) continue
    const data = { transcoderId: engine.id, transcoderName: engine.name, channelId: channel.id, status: engine.status }
    await emitStreamEvent(tx, on, { type: 'transcoder', event, data: { ...data, created: engine.createdAtMs } })
  }
}

function transcoderEvent(effect: EngineEffect): 'started' | 'stopped' | 'error' | null {
  if (effect.do === 'openRun') return 'started'
  if (effect.do === 'closeRun') return 'stopped'
  return effect.do === 'tell' && effect.status === 'error' ? 'error' : null
}

/** A channel has the status of its most advanced engine. */
async function followEngines(
  tx: Tx,
  { accountId, id }: Pick<Channel, 'id' | 'accountId'>,
  atMs: number,
): Promise<void> {
  const channel = await tx.channels.get(accountId, id)
  const status = statusOf((await tx.engines.ofChannel(id)).map((engine) => engine.status))
  if (!channel || channel.status === status) return
  await tx.channels.setStatus(id, status)
  const names: Partial<Record<typeof status, ChannelEventName>> = {
    deploying: 'channel.deploying',
    stopped: 'channel.stopped',
  }
  const name = names[status]
  if (name === undefined) return
  await emitChannelEvent(
    tx,
    { accountId, atMs },
    { name, object: { type: 'channel', id, name: channel.name }, data: null },
  )
}
