import { err, ok, type Result } from '../../base/result.ts'
import {
  type NewDistribution,
  readCreateDistribution,
  readUpdateDistribution,
  toDistributionRecord,
  toKeyRecord,
} from '../../core/channels/distribution.ts'
import type { DistributionRecord } from '../../core/channels/distributionSchema.ts'
import { type ChannelFailure, noSuch, validationFailed } from '../../core/channels/errors.ts'
import { type PageRequest, readPlainQuery } from '../../core/channels/listQuery.ts'
import type { Channel, Distribution } from '../../core/channels/types.ts'
import type { DistributionKey, Tx } from '../../store/store.ts'
import type { Actor, ChannelContext } from '../context.ts'
import type { KeysetPage } from '../pages.ts'
import { newKey } from './distributionKey.ts'
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

interface Made {
  distribution: Distribution
  keys: DistributionKey[]
}

/** What an operator may choose for a new distribution, and a client of the API may not. */
export interface ChosenDistribution {
  readonly id?: string | undefined
  readonly closedWithoutKey?: boolean | undefined
}

/** Creates a distribution of a channel. */
export async function createDistribution(
  ctx: ChannelContext,
  actor: Actor,
  channelId: string,
  body: unknown,
  chosen: ChosenDistribution = {},
): ChannelResult<DistributionRecord> {
  const read = checked(readCreateDistribution(body, ctx.channelSettings))
  if (!read.ok) return read
  const made = await ctx.store.transaction((tx) =>
    withChannel(tx, actor.accountId, channelId, async (channel): ChannelResult<Made> => {
      const free = room('distributions', await tx.distributions.count(channelId))
      if (!free.ok) return free
      const valid = await checkEngines(tx, channelId, read.value.rules.engineIds)
      if (!valid.ok) return valid
      const fresh = newDistribution(ctx, channel, read.value, chosen)
      await insertDistributions(tx, fresh)
      await recordChanges(ctx, tx, actor, createdDistribution(fresh, channel))
      return ok(fresh)
    }),
  )
  return answered(ctx, made, 'created')
}

export async function readDistribution(
  ctx: ChannelContext,
  accountId: string,
  id: string,
): ChannelResult<DistributionRecord> {
  const distribution = isId(id) ? await ctx.store.read.distributions.get(accountId, id) : undefined
  if (!distribution) return err(noSuch('distribution', id))
  return ok(toDistributionRecord(distribution, (await ctx.store.read.distributionKeys.list(id)).map(toKeyRecord)))
}

/** Edits the fields in the body. The change applies at once, also to current viewers. */
export async function updateDistribution(
  ctx: ChannelContext,
  actor: Actor,
  id: string,
  body: unknown,
): ChannelResult<DistributionRecord> {
  const nowMs = ctx.clock.now()
  const made = await ctx.store.transaction((tx) =>
    withPart(tx, actor, distributionPart(tx, id), async (before, channel): ChannelResult<Made> => {
      const rules = checked(readUpdateDistribution(body, before))
      if (!rules.ok) return rules
      const valid = await checkEngines(tx, before.channelId, rules.value.engineIds)
      if (!valid.ok) return valid
      const distribution = { ...before, ...rules.value, updatedAtMs: nowMs }
      await tx.distributions.replace(distribution)
      const object = objectOf(distribution, channel)
      const change = { object, verb: 'updated', before: auditView(before), after: auditView(distribution) }
      // Switching a distribution on or off has an event of its own.
      const isSwitched = before.enabled !== distribution.enabled
      const switched = isSwitched ? [{ object, verb: distribution.enabled ? 'enabled' : 'disabled' }] : []
      await recordChanges(ctx, tx, actor, change, ...switched)
      return ok({ distribution, keys: await tx.distributionKeys.list(id) })
    }),
  )
  return answered(ctx, made, 'updated')
}

export function deleteDistribution(ctx: ChannelContext, actor: Actor, id: string): ChannelResult<true> {
  return deleteReported(ctx, actor, { kind: 'distribution', id }, (tx) =>
    withPart(tx, actor, distributionPart(tx, id), async (distribution, channel): ChannelResult<true> => {
      await tx.distributions.delete(id)
      const object = objectOf(distribution, channel)
      await recordChanges(ctx, tx, actor, { object, verb: 'deleted', before: auditView(distribution) })
      return ok(true)
    }),
  )
}

/** Takes a deleted engine out of the distributions of its channel, which is locked. Returns their changes. */
export async function forgetEngine(
  tx: Tx,
  nowMs: number,
  channel: Channel,
  engineId: string,
): Promise<ResourceChange[]> {
  const changes: ResourceChange[] = []
  for (const before of await tx.distributions.ofChannel(channel.id)) {
    if (!before.engineIds.includes(engineId)) continue
    const engineIds = before.engineIds.filter((id) => id !== engineId)
    const after = { ...before, engineIds, updatedAtMs: Math.max(nowMs, before.updatedAtMs + 1) }
    await tx.distributions.replace(after)
    const states = { before: { engineIds: before.engineIds }, after: { engineIds } }
    changes.push({ object: objectOf(after, channel), verb: 'updated', ...states })
  }
  return changes
}

/** One page of the distributions of a channel, by name. */
export async function listDistributions(
  ctx: ChannelContext,
  accountId: string,
  channelId: string,
  query: Record<string, unknown>,
): ChannelResult<KeysetPage<DistributionRecord>> {
  const read = readPlainQuery(query)
  if (!read.ok) return read
  const channel = isId(channelId) ? await ctx.store.read.channels.get(accountId, channelId) : undefined
  return channel ? pageOfDistributions(ctx, channelId, read.value) : err(noSuch('channel', channelId))
}

/** As `listDistributions`, of a channel that the account has. */
export async function pageOfDistributions(
  ctx: ChannelContext,
  channelId: string,
  query: PageRequest,
): ChannelResult<KeysetPage<DistributionRecord>> {
  const page = await channelPage(ctx, {
    scope: { list: 'distributions', filters: { channelId } },
    ...query,
    keyOf: (row: Distribution) => [row.name, row.id],
    read: ([name, id], limit) => {
      const after = typeof name === 'string' && typeof id === 'string' ? { after: { name, id } } : {}
      return ctx.store.read.distributions.page({ channelId, limit, ...after })
    },
  })
  if (!page.ok) return page
  const { data } = page.value
  const keys = await ctx.store.read.distributionKeys.list(...data.map(({ id }) => id))
  const keysOf = Map.groupBy(keys, ({ distributionId }) => distributionId)
  return ok({
    ...page.value,
    data: data.map((row) => toDistributionRecord(row, keysOf.get(row.id)?.map(toKeyRecord) ?? [])),
  })
}

export function newDistribution(
  ctx: ChannelContext,
  channel: Channel,
  { rules, keys }: NewDistribution,
  { id = newId(ctx, 'di'), closedWithoutKey = false }: ChosenDistribution = {},
): Made {
  const nowMs = ctx.clock.now()
  const times = { createdAtMs: nowMs, updatedAtMs: nowMs }
  const { id: channelId, accountId } = channel
  const distribution = { ...rules, closedWithoutKey, ...times, id, accountId, channelId }
  return { distribution, keys: keys.map((key) => newKey(ctx, distribution, key)) }
}

export async function insertDistributions(tx: Tx, ...made: readonly Made[]): Promise<void> {
  await tx.distributions.insert(...made.map(({ distribution }) => distribution))
  await tx.distributionKeys.insert(...made.flatMap(({ keys }) => keys))
}

export const createdDistribution = ({ distribution, keys }: Made, channel: Channel): ResourceChange => ({
  object: objectOf(distribution, channel),
  verb: 'created',
  after: { ...auditView(distribution), keys: keys.map(toKeyRecord) },
})

export const distributionPart = (tx: Tx, id: string) => ({ what: 'distribution', id, of: tx.distributions }) as const

const objectOf = (distribution: Distribution, channel: Channel) => partObject('distribution', distribution, channel)

/** Only engines of the same channel can feed a distribution. */
async function checkEngines(
  tx: Tx,
  channelId: string,
  engineIds: readonly string[],
): Promise<Result<true, ChannelFailure>> {
  const existing = engineIds.length === 0 ? [] : await tx.engines.ofChannel(channelId)
  const unknown = engineIds.filter((id) => !existing.some((engine) => engine.id === id))
  if (unknown.length === 0) return ok(true)
  const text = `must be engines of the channel ${channelId}; these are not: ${unknown.slice(0, 3).join(', ')}`
  return err(validationFailed({ 'endpoints.engineIds': [text] }))
}

function answered(
  ctx: ChannelContext,
  made: Result<Made, ChannelFailure>,
  what: 'created' | 'updated',
): Result<DistributionRecord, ChannelFailure> {
  if (!made.ok) return made
  const { distribution, keys } = made.value
  ctx.channelChanged({ kind: 'distribution', what, accountId: distribution.accountId, id: distribution.id })
  return ok(toDistributionRecord(distribution, keys.map(toKeyRecord)))
}

function auditView({
  id: _id,
  accountId: _account,
  createdAtMs: _made,
  updatedAtMs: _changed,
  ...rules
}: Distribution) {
  return rules
}
