import { err, ok } from '../../../base/result.ts'
import { formatActor } from '../../../core/actor.ts'
import type { Cause } from '../../../core/channels/runs/engine.ts'
import { noSuch, refusal } from '../../../core/channels/errors.ts'
import type { AbrLadder, Engine } from '../../../core/channels/types.ts'
import type { Tx } from '../../../store/store.ts'
import { type Actor, type ChannelContext, audit } from '../../context.ts'
import { ladderOf } from '../ladders.ts'
import { type ChannelResult, isId, withChannel, withPart } from '../channelCommand.ts'
import type { EncodingLoad } from '../../../services/encodingLoad.ts'
import { type LockedChannel, stepEngines, withEngines } from './step.ts'

/**
 * A sentence if this node will probably not keep up with the engines that a start begins; null if it will, or if there
 * is nothing to start. Reads only.
 */
export async function warningOfStart(
  ctx: ChannelContext,
  load: Pick<EncodingLoad, 'warningFor'>,
  accountId: string,
  of: { readonly channelId: string } | { readonly engineId: string },
): Promise<string | null> {
  const begun: { engineId: string; ladder: AbrLadder }[] = []
  for (const engine of await enginesOf(ctx, accountId, of)) {
    const begins = engine.ingestId !== null && (engine.status === 'stopped' || engine.status === 'stopping')
    const ladder = begins ? await ladderOf(ctx, accountId, engine.abrLadderId) : undefined
    if (ladder) begun.push({ engineId: engine.id, ladder })
  }
  return load.warningFor(begun)
}

async function enginesOf(
  { store: { read } }: ChannelContext,
  accountId: string,
  of: { readonly channelId: string } | { readonly engineId: string },
): Promise<readonly Engine[]> {
  if ('engineId' in of) {
    const engine = isId(of.engineId) ? await read.engines.get(accountId, of.engineId) : undefined
    return engine ? [engine] : []
  }
  const channel = isId(of.channelId) ? await read.channels.get(accountId, of.channelId) : undefined
  return channel ? read.engines.ofChannel(channel.id) : []
}

/** Starts every engine of a channel that has an ingest. Running engines continue. */
export function startChannel(ctx: ChannelContext, actor: Actor, id: string): ChannelResult<true> {
  return onChannel(ctx, actor, id, 'channel.start', async (tx, of) => {
    const engines = of.engines.filter(({ ingestId }) => ingestId !== null)
    if (engines.length === 0) {
      return err(refusal('engine_not_ready', 'This channel has no engine with an ingest, so there is nothing to start'))
    }
    return startOrStop(ctx, tx, of, engines, { kind: 'start', cause: await causeOf(tx, actor) })
  })
}

/** Stops every engine of a channel. */
export function stopChannel(ctx: ChannelContext, actor: Actor, id: string): ChannelResult<true> {
  return onChannel(ctx, actor, id, 'channel.stop', async (tx, of) =>
    startOrStop(ctx, tx, of, of.engines, { kind: 'stop', cause: await causeOf(tx, actor) }),
  )
}

export function startEngine(ctx: ChannelContext, actor: Actor, id: string): ChannelResult<true> {
  return onEngine(ctx, actor, id, 'engine.start', async (tx, engine, of) =>
    engine.ingestId === null
      ? err(refusal('engine_not_ready', 'This engine has no ingest, so there is nothing that it could work on'))
      : startOrStop(ctx, tx, of, [engine], { kind: 'start', cause: await causeOf(tx, actor) }),
  )
}

export function stopEngine(ctx: ChannelContext, actor: Actor, id: string): ChannelResult<true> {
  return onEngine(ctx, actor, id, 'engine.stop', async (tx, engine, of) =>
    startOrStop(ctx, tx, of, [engine], { kind: 'stop', cause: await causeOf(tx, actor) }),
  )
}

/**
 * Starts or stops some engines of a channel. When a user starts an engine that a scheduler runs, it continues after the
 * scheduler ends.
 */
export async function startOrStop(
  ctx: ChannelContext,
  tx: Tx,
  of: LockedChannel,
  engines: readonly Engine[],
  order: { readonly kind: 'start' | 'stop'; readonly cause: Cause },
): ChannelResult<true> {
  await stepEngines(ctx, tx, of, engines, order)
  const keeps = order.kind === 'start' && order.cause.type !== 'scheduler'
  // A run that begins here is the user's already.
  for (const { id } of keeps ? engines : []) await keepRun(tx, of.states.get(id)?.runId ?? null, order.cause)
  return ok(true)
}

async function keepRun(tx: Tx, runId: string | null, { id }: Cause): Promise<void> {
  const run = runId === null ? undefined : await tx.runs.get(runId)
  if (run?.start.type === 'scheduler' && run.endedAtMs === null) await tx.runs.keep(run.id, id)
}

/** The credential or user of the request, with its name. */
async function causeOf(tx: Tx, actor: Actor): Promise<Cause> {
  const credential = actor.kind === 'credential' ? await tx.credentials.get(actor.accountId, actor.id) : undefined
  const name = credential === undefined ? {} : { name: credential.name }
  return { type: actor.kind === 'user' ? 'dashboard' : 'api', id: formatActor(actor), ...name }
}

async function onChannel(
  ctx: ChannelContext,
  actor: Actor,
  id: string,
  action: string,
  work: (tx: Tx, of: LockedChannel) => ChannelResult<true>,
): ChannelResult<true> {
  const done = await ctx.store.transaction((tx) =>
    withChannel(tx, actor.accountId, id, async (channel) => {
      const worked = await work(tx, await withEngines(tx, channel))
      if (worked.ok) await audit(tx, actor, ctx.clock.now(), { action, subject: id })
      return worked
    }),
  )
  if (done.ok) ctx.channelChanged({ kind: 'channel', what: 'updated', accountId: actor.accountId, id })
  return done
}

async function onEngine(
  ctx: ChannelContext,
  actor: Actor,
  id: string,
  action: string,
  work: (tx: Tx, engine: Engine, of: LockedChannel) => ChannelResult<true>,
): ChannelResult<true> {
  if (!isId(id)) return err(noSuch('engine', id))
  const done = await ctx.store.transaction((tx) => {
    const part = { what: 'engine', id, of: tx.engines } as const
    return withPart(tx, actor, part, async (engine, channel) => {
      const worked = await work(tx, engine, await withEngines(tx, channel))
      if (worked.ok) await audit(tx, actor, ctx.clock.now(), { action, subject: id })
      return worked
    })
  })
  if (done.ok) ctx.channelChanged({ kind: 'engine', what: 'updated', accountId: actor.accountId, id })
  return done
}
