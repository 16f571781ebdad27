import { err, ok, type Result } from '../../base/result.ts'
import {
  type NewEngine,
  readCreateEngine,
  readCreateEngineOfIngest,
  readUpdateEngine,
  toEngineRecord,
} from '../../core/channels/engine.ts'
import type { EngineRecord } from '../../core/channels/engineSchema.ts'
import { type ChannelFailure, noSuch, refusal, validationFailed } from '../../core/channels/errors.ts'
import { type PageRequest, readPlainQuery } from '../../core/channels/listQuery.ts'
import { type Channel, type Engine, isIdle } from '../../core/channels/types.ts'
import type { ChildListQuery, Tx } from '../../store/store.ts'
import { type Actor, audit, type ChannelContext } from '../context.ts'
import { type KeysetPage, newestAfter } from '../pages.ts'
import { sealedTargets } from './engineTargets.ts'
import { forgetEngine } from './distributions.ts'
import { forgetTarget } from './schedules/forgetTargets.ts'
import { hasLadder, noLadder } from './ladders.ts'
import {
  type ChannelResult,
  checked,
  deleteReported,
  isId,
  channelPage,
  newId,
  partObject,
  recordChanges,
  type ResourceChange,
  room,
  withChannel,
  withPart,
} from './channelCommand.ts'

/** Creates an engine of a channel, stopped. */
export async function createEngine(
  ctx: ChannelContext,
  actor: Actor,
  channelId: string,
  body: unknown,
  engineId?: string,
): ChannelResult<EngineRecord> {
  const read = checked(readCreateEngine(body, ctx.channelSettings))
  if (!read.ok) return read
  const made = await ctx.store.transaction((tx) =>
    withChannel(tx, actor.accountId, channelId, (channel) =>
      insertEngine(ctx, tx, actor, channel, newEngine(ctx, channel, read.value, engineId)),
    ),
  )
  return answered(ctx, made, 'created')
}

/** Creates an engine that takes its media from this ingest. */
export async function createEngineOfIngest(
  ctx: ChannelContext,
  actor: Actor,
  ingestId: string,
  body: unknown,
  engineId?: string,
): ChannelResult<EngineRecord> {
  const read = checked(readCreateEngineOfIngest(body, ctx.channelSettings))
  if (!read.ok) return read
  const made = await ctx.store.transaction((tx) => {
    const ingest = { what: 'ingest', id: ingestId, of: tx.ingests } as const
    return withPart(tx, actor, ingest, (_ingest, channel) =>
      insertEngine(ctx, tx, actor, channel, newEngine(ctx, channel, { ...read.value, ingestId }, engineId)),
    )
  })
  return answered(ctx, made, 'created')
}

async function insertEngine(
  ctx: ChannelContext,
  tx: Tx,
  actor: Actor,
  channel: Channel,
  engine: Engine,
): ChannelResult<Engine> {
  const free = room('engines', await tx.engines.count(channel.id))
  if (!free.ok) return free
  const valid = await checkNames(tx, channel, engine)
  if (!valid.ok) return valid
  await tx.engines.insert(engine)
  await recordChanges(ctx, tx, actor, createdEngine(engine, channel))
  return ok(engine)
}

export async function readEngine(ctx: ChannelContext, accountId: string, id: string): ChannelResult<EngineRecord> {
  const engine = isId(id) ? await ctx.store.read.engines.get(accountId, id) : undefined
  return engine ? ok(toEngineRecord(engine)) : err(noSuch('engine', id))
}

/** Edits an engine. Its ingest, region and ladder can change only while it is stopped. */
export async function updateEngine(
  ctx: ChannelContext,
  actor: Actor,
  id: string,
  body: unknown,
): ChannelResult<EngineRecord> {
  const patch = checked(readUpdateEngine(body, ctx.channelSettings))
  if (!patch.ok) return patch
  const nowMs = ctx.clock.now()
  const made = await ctx.store.transaction((tx) =>
    withPart(tx, actor, enginePart(tx, id), async (before, channel): ChannelResult<Engine> => {
      const { targets, ...rules } = patch.value
      const sealed = targets === undefined ? ok({}) : sealedTargets(ctx, targets, before)
      if (!sealed.ok) return sealed
      const after = { ...before, ...rules, ...sealed.value, updatedAtMs: laterThan(before, nowMs) }
      if (!isIdle(before.status) && !worksAlike(before, after)) return err(stillRuns(before))
      const valid = await checkNames(tx, channel, after)
      if (!valid.ok) return valid
      await tx.engines.replace(after)
      const states = { before: auditView(before), after: auditView(after) }
      await recordChanges(ctx, tx, actor, { object: objectOf(after, channel), verb: 'updated', ...states })
      return ok(after)
    }),
  )
  return answered(ctx, made, 'updated')
}

/** Deletes a stopped engine. Distributions and schedulers that named it continue without it. */
export function deleteEngine(ctx: ChannelContext, actor: Actor, id: string): ChannelResult<true> {
  return deleteReported(ctx, actor, { kind: 'engine', id }, async (tx, nowMs) => {
    const named = isId(id) ? await tx.engines.get(actor.accountId, id) : undefined
    if (named) await tx.schedulers.lockNaming(actor.accountId, named.channelId)
    return withPart(tx, actor, enginePart(tx, id), async (engine, channel): ChannelResult<true> => {
      if (!isIdle(engine.status)) return err(stillRuns(engine))
      const others = [
        ...(await forgetEngine(tx, nowMs, channel, id)),
        ...(await forgetTarget(tx, nowMs, actor.accountId, { channelId: channel.id, engineId: id })),
      ]
      await tx.engines.delete(id)
      const object = objectOf(engine, channel)
      const deleting = { object, verb: 'deleting', isEventOnly: true } as const
      const deleted = { object, verb: 'deleted', before: auditView(engine) }
      await recordChanges(ctx, tx, actor, deleting, ...others, deleted)
      return ok(true)
    })
  })
}

/** One page of the engines of a channel, newest first. */
export async function listEngines(
  ctx: ChannelContext,
  accountId: string,
  channelId: string,
  query: Record<string, unknown>,
): ChannelResult<KeysetPage<EngineRecord>> {
  const channel = isId(channelId) ? await ctx.store.read.channels.get(accountId, channelId) : undefined
  return channel ? queriedPage(ctx, query, { channelId }) : err(noSuch('channel', channelId))
}

/** One page of the engines that take their media from this ingest, newest first. */
export async function listEnginesOfIngest(
  ctx: ChannelContext,
  accountId: string,
  ingestId: string,
  query: Record<string, unknown>,
): ChannelResult<KeysetPage<EngineRecord>> {
  const ingest = isId(ingestId) ? await ctx.store.read.ingests.get(accountId, ingestId) : undefined
  return ingest ? queriedPage(ctx, query, { ingestId }) : err(noSuch('ingest', ingestId))
}

type EngineParent = { readonly channelId: string } | { readonly ingestId: string }

async function queriedPage(
  ctx: ChannelContext,
  query: Record<string, unknown>,
  parent: EngineParent,
): ChannelResult<KeysetPage<EngineRecord>> {
  const read = readPlainQuery(query)
  return read.ok ? pageOfEngines(ctx, parent, read.value) : read
}

/** One page of the engines of a channel or an ingest that the account has. */
export async function pageOfEngines(
  ctx: ChannelContext,
  parent: EngineParent,
  query: PageRequest,
): ChannelResult<KeysetPage<EngineRecord>> {
  const list = 'ingestId' in parent ? 'ingest_engines' : 'engines'
  const found = await channelPage(ctx, {
    scope: { list, filters: { ...parent } },
    ...query,
    keyOf: (row: Engine) => [row.createdAtMs, row.id],
    read: (position, limit) => {
      const selection: ChildListQuery = { ...parent, limit, ...newestAfter(position) }
      return ctx.store.read.engines.page(selection)
    },
  })
  return found.ok ? ok({ ...found.value, data: found.value.data.map(toEngineRecord) }) : found
}

/** Nodes see by this time that an engine has changed. */
const laterThan = ({ updatedAtMs }: Engine, nowMs: number): number => Math.max(nowMs, updatedAtMs + 1)

/** Makes the node of an engine look at its targets again: it dials those that were refused or have failed. */
export async function syncEngineTargets(ctx: ChannelContext, actor: Actor, id: string): ChannelResult<true> {
  const nowMs = ctx.clock.now()
  const made = await ctx.store.transaction((tx) =>
    withPart(tx, actor, enginePart(tx, id), async (before): ChannelResult<Engine> => {
      const after = { ...before, updatedAtMs: laterThan(before, nowMs) }
      await tx.engines.replace(after)
      await audit(tx, actor, nowMs, { action: 'engine.sync_restream', subject: id })
      return ok(after)
    }),
  )
  const done = answered(ctx, made, 'updated')
  return done.ok ? ok(true) : done
}

export function newEngine(
  ctx: ChannelContext,
  channel: Channel,
  { targets, ...rules }: NewEngine,
  id = newId(ctx, 'en'),
): Engine {
  const nowMs = ctx.clock.now()
  const sealed = sealedTargets(ctx, targets)
  if (!sealed.ok) throw new Error('the targets of a new engine were not checked')
  return {
    ...rules,
    ...sealed.value,
    id,
    accountId: channel.accountId,
    channelId: channel.id,
    status: 'stopped',
    statusMessage: null,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  }
}

export const createdEngine = (engine: Engine, channel: Channel): ResourceChange => ({
  object: objectOf(engine, channel),
  verb: 'created',
  after: auditView(engine),
})

/** Checks that the ingest and the ladder of an engine exist. */
async function checkNames(
  tx: Tx,
  channel: Channel,
  rules: Pick<NewEngine, 'ingestId' | 'abrLadderId'>,
): Promise<Result<true, ChannelFailure>> {
  const wrong: Record<string, string[]> = {}
  const ingests = rules.ingestId === null ? [] : await tx.ingests.ofChannel(channel.id)
  if (rules.ingestId !== null && !ingests.some(({ id }) => id === rules.ingestId)) {
    wrong['ingestId'] = [`must be an ingest of the channel ${channel.id}`]
  }
  if (!(await hasLadder(tx, channel.accountId, rules.abrLadderId))) {
    wrong['quality.abrLadderId'] = [noLadder(rules.abrLadderId)]
  }
  return Object.keys(wrong).length === 0 ? ok(true) : err(validationFailed(wrong))
}

/** True if both do the same work, whatever their names. */
const worksAlike = (a: Engine, b: Engine): boolean =>
  a.ingestId === b.ingestId && a.region === b.region && a.abrLadderId === b.abrLadderId

const stillRuns = ({ id, status }: Engine): ChannelFailure =>
  refusal('engine_running', `The engine is ${status}; stop it first: POST /v2/engines/${id}/stop`)

const enginePart = (tx: Tx, id: string) => ({ what: 'engine', id, of: tx.engines }) as const

function answered(
  ctx: ChannelContext,
  made: Result<Engine, ChannelFailure>,
  what: 'created' | 'updated',
): Result<EngineRecord, ChannelFailure> {
  if (!made.ok) return made
  const { accountId, id } = made.value
  ctx.channelChanged({ kind: 'engine', what, accountId, id })
  return ok(toEngineRecord(made.value))
}

const objectOf = (engine: Engine, channel: Channel) => partObject('engine', engine, channel)

const auditView = ({ name, channelId, ingestId, region, abrLadderId, priority, restream }: Engine) => ({
  name,
  channelId,
  ingestId,
  region,
  abrLadderId,
  priority,
  restream: restream.map(({ shownKey: _end, ...target }) => target),
})
