import { momentOf, settledSpan } from '../../../base/clock.ts'
import { prefixedId } from '../../../base/ids.ts'
import {
  advanceEngine,
  type Cause,
  type EngineEffect,
  type EngineEvent,
  type EngineState,
  type Step,
} from '../../../core/channels/runs/engine.ts'
import { type ActiveStatus, type Channel, type Engine, statusOf } from '../../../core/channels/types.ts'
import type { ChannelEventName, ChannelWebhookEvent, EventObject } from '../../../core/channels/webhooks/events.ts'
import type { EngineStateRecord, RunConfig, StoredEngineState, Tx } from '../../../store/store.ts'
import type { ChannelContext } from '../../context.ts'
import { emit, type EmittedEvent } from '../../emit.ts'
import { streamEventOf } from '../../webhooks/emit.ts'
import { partObject } from '../channelCommand.ts'
import { channelEventOf } from '../webhooks/emit.ts'

export type EngineContext = Pick<ChannelContext, 'clock' | 'random' | 'runStarts'>

/** A locked channel with its engines, and the states of those that ever ran, as they are at the lock. */
export interface LockedChannel {
  readonly channel: Channel
  readonly engines: readonly Engine[]
  readonly states: ReadonlyMap<string, StoredEngineState>
}

/** Undefined: there is no such channel. */
export async function lockEngines(tx: Tx, accountId: string, channelId: string): Promise<LockedChannel | undefined> {
  const channel = await tx.channels.lock(accountId, channelId)
  return channel && withEngines(tx, channel)
}

/** The engines of a channel that is locked. */
export async function withEngines(tx: Tx, channel: Channel): Promise<LockedChannel> {
  const engines = await tx.engines.ofChannel(channel.id)
  const states = await tx.engineStates.ofChannel(channel.id)
  return { channel, engines, states: new Map(states.map((state) => [state.engineId, state])) }
}

/**
 * Applies an event to some of the engines. Writes their next states, their runs, the status of the channel and the events
 * together. What `of` says of them is outdated then.
 * @returns what the caller has to do after the commit
 */
export async function stepEngines(
  ctx: EngineContext,
  tx: Tx,
  of: LockedChannel,
  engines: readonly Engine[],
  event: EngineEvent,
): Promise<readonly EngineEffect[]> {
  const { channel } = of
  const nowMs = ctx.clock.now()
  const statuses = new Map(of.engines.map(({ id, status }) => [id, status]))
  let { status } = channel
  const events: EmittedEvent[] = []
  const done: EngineEffect[] = []
  for (const before of engines) {
    const stepped = await stepOne(ctx, tx, { engine: before, stored: of.states.get(before.id) }, event, nowMs)
    if (!stepped) continue
    const { engine, effects } = stepped
    statuses.set(engine.id, engine.status)
    // A channel has the status of its most advanced engine.
    const next = statusOf([...statuses.values()])
    events.push(...engineEvents(channel, engine, effects, nowMs), ...channelEvents(channel, status, next, nowMs))
    done.push(...effects)
    status = next
  }
  if (status !== channel.status) await tx.channels.setStatus(channel.id, status)
  await emit(tx, ...events.map((one) => ({ accountId: channel.accountId, atMs: nowMs, ...one })))
  return done
}

/** Steps one engine of a channel, which it locks. */
export async function stepEngine(
  ctx: EngineContext,
  tx: Tx,
  { accountId, channelId, engineId }: Pick<StoredEngineState, 'accountId' | 'channelId' | 'engineId'>,
  event: EngineEvent,
): Promise<void> {
  const of = await lockEngines(tx, accountId, channelId)
  const engine = of?.engines.find(({ id }) => id === engineId)
  if (of && engine) await stepEngines(ctx, tx, of, [engine], event)
}

interface Stepped {
  readonly engine: Engine
  readonly effects: readonly EngineEffect[]
}

/** Null: the event changes nothing. */
async function stepOne(
  ctx: EngineContext,
  tx: Tx,
  { engine, stored = initialState(engine) }: { engine: Engine; stored: EngineStateRecord | undefined },
  event: EngineEvent,
  nowMs: number,
): Promise<Stepped | null> {
  const before: EngineState = { ...stored, status: engine.status, message: engine.statusMessage }
  const { state, effects } = advanceAtNode(before, event, nowMs, stored.node)
  if (effects.length === 0 && state === before) return null
  const { idleSinceMs, failures, retryAtMs } = state
  const after: EngineStateRecord = { ...stored, idleSinceMs, failures, retryAtMs, wanted: isWanted(stored, event) }
  for (const effect of effects) {
    if (effect.do === 'openRun') after.runId = await openRun(ctx, tx, engine, effect.cause)
    if (effect.do === 'closeRun' && after.runId) await closeRun(ctx, tx, after.runId, effect.cause, event)
  }
  if (idleSinceMs !== null && idleSinceMs !== stored.idleSinceMs) ctx.runStarts.note(engine.id, momentOf(ctx.clock))
  await tx.engineStates.put(after)
  await tx.engines.setStatus(engine.id, state.status, state.message)
  return { engine: { ...engine, status: state.status, statusMessage: state.message }, effects }
}

/** An engine that no node has taken has no process whose end a stop would wait for. */
function advanceAtNode(before: EngineState, event: EngineEvent, nowMs: number, node: string | null): Step {
  const step = advanceEngine(before, event, nowMs)
  if (node !== null || event.kind !== 'stop' || step.state.status !== 'stopping') return step
  const { state, effects } = advanceEngine(step.state, { kind: 'ended' }, nowMs)
  return { state, effects: [...step.effects, ...effects] }
}

/** Since when an engine has had no source, by the clock as it is now. A process that has not seen it begin knows no better. */
export function idleSince(
  { clock, runStarts }: EngineContext,
  { engineId, idleSinceMs }: EngineStateRecord,
): number | null {
  return idleSinceMs === null ? null : idleSinceMs + clock.now() - runStarts.dateOf(engineId, clock)
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

function engineEvents(
  channel: Channel,
  engine: Engine,
  effects: readonly EngineEffect[],
  atMs: number,
): EmittedEvent[] {
  const object = partObject('engine', engine, channel)
  const { id: transcoderId, name: transcoderName, channelId, status, createdAtMs: created } = engine
  const data = { transcoderId, transcoderName, channelId, status, created }
  return effects.flatMap((effect) => {
    const told = effect.do === 'tell' ? statusEvents(object, engine, effect.status) : []
    const event = transcoderEvent(effect)
    const transcoder = event === null ? [] : [streamEventOf({ type: 'transcoder', event, data })]
    return [...told.map((one) => channelEventOf(one, atMs)), ...transcoder]
  })
}

function statusEvents(object: EventObject, { statusMessage }: Engine, status: ActiveStatus): ChannelWebhookEvent[] {
  const data = status === 'error' ? { message: statusMessage?.text ?? null } : null
  const told: ChannelWebhookEvent = { name: `engine.${status}`, object, data }
  return data ? [told, { name: 'engine.log.error', object, data }] : [told]
}

function transcoderEvent(effect: EngineEffect): 'started' | 'stopped' | 'error' | null {
  if (effect.do === 'openRun') return 'started'
  if (effect.do === 'closeRun') return 'stopped'
  return effect.do === 'tell' && effect.status === 'error' ? 'error' : null
}

const CHANNEL_EVENTS: Partial<Record<ActiveStatus, ChannelEventName>> = {
  deploying: 'channel.deploying',
  stopped: 'channel.stopped',
}

function channelEvents({ id, name }: Channel, from: ActiveStatus, to: ActiveStatus, atMs: number): EmittedEvent[] {
  const event = from === to ? undefined : CHANNEL_EVENTS[to]
  return event ? [channelEventOf({ name: event, object: { type: 'channel', id, name }, data: null }, atMs)] : []
}
