import { err, ok } from '../../base/result.ts'
import { readCreateChannel, readUpdateChannel, toChannelRecord } from '../../core/channels/channel.ts'
import type { ChannelRecord } from '../../core/channels/channelSchema.ts'
import { type ChannelFailure, noSuch, refusal } from '../../core/channels/errors.ts'
import { readChannelQuery } from '../../core/channels/listQuery.ts'
import { type Channel, type Engine, isIdle } from '../../core/channels/types.ts'
import { Conflict, type Tx } from '../../store/store.ts'
import type { Actor, ChannelContext } from '../context.ts'
import { type KeysetPage, newestAfter } from '../pages.ts'
import { forgetTarget } from './schedules/forgetTargets.ts'
import {
  type Children,
  childrenOf,
  type ChildRecords,
  checkChildren,
  insertChildren,
  toChildRecords,
} from './children.ts'
import {
  type ChannelResult,
  checked,
  deleteReported,
  isId,
  channelPage,
  newId,
  partObject,
  type PartType,
  recordChanges,
  type ResourceChange,
  withChannel,
} from './channelCommand.ts'

/** Creates a channel with everything in its body. If any part is invalid, nothing is written. */
export async function createChannel(
  ctx: ChannelContext,
  actor: Actor,
  body: unknown,
  id: string = newId(ctx, 'ch'),
): ChannelResult<ChannelRecord & ChildRecords> {
  const read = checked(readCreateChannel(body, ctx.channelSettings))
  if (!read.ok) return read
  const nowMs = ctx.clock.now()
  const channel: Channel = {
    ...read.value.rules,
    id,
    accountId: actor.accountId,
    status: 'stopped',
    slate: null,
    createdAtMs: nowMs,
  }
  const children = childrenOf(ctx, channel, read.value)
  const made = await writeChannel(ctx, actor, channel, children)
  if (!made.ok) return made
  ctx.channelChanged({ kind: 'channel', what: 'created', accountId: actor.accountId, id })
  return ok({ ...toChannelRecord(channel), ...toChildRecords(ctx, children) })
}

function writeChannel(ctx: ChannelContext, actor: Actor, channel: Channel, children: Children): ChannelResult<true> {
  return unlessTaken(() =>
    ctx.store.transaction(async (tx) => {
      const valid = await checkChildren(tx, channel.accountId, children)
      if (!valid.ok) return valid
      await tx.channels.insert(channel)
      const created = { object: objectOf(channel), verb: 'created', after: auditView(channel) }
      const parts = await insertChildren(tx, channel, children)
      await recordChanges(ctx, tx, actor, created, ...parts)
      return ok(true)
    }),
  )
}

export async function readChannel(ctx: ChannelContext, accountId: string, id: string): ChannelResult<ChannelRecord> {
  const channel = isId(id) ? await ctx.store.read.channels.get(accountId, id) : undefined
  return channel ? ok(toChannelRecord(channel)) : err(noSuch('channel', id))
}

/** Edits the fields in the body. A new `timeout` also applies to a running channel. */
export async function updateChannel(
  ctx: ChannelContext,
  actor: Actor,
  id: string,
  body: unknown,
): ChannelResult<ChannelRecord> {
  const patch = checked(readUpdateChannel(body))
  if (!patch.ok) return patch
  const changed = await unlessTaken(() =>
    ctx.store.transaction((tx) =>
      withChannel(tx, actor.accountId, id, async (before) => {
        const after = { ...before, ...patch.value }
        await tx.channels.replace(after)
        const states = { before: auditView(before), after: auditView(after) }
        await recordChanges(ctx, tx, actor, { object: objectOf(after), verb: 'updated', ...states })
        return ok(after)
      }),
    ),
  )
  if (!changed.ok) return changed
  ctx.channelChanged({ kind: 'channel', what: 'updated', accountId: actor.accountId, id })
  return ok(toChannelRecord(changed.value))
}

/** Deletes a stopped channel with everything that belongs to it. Schedulers no longer name it. */
export function deleteChannel(ctx: ChannelContext, actor: Actor, id: string): ChannelResult<true> {
  return deleteReported(ctx, actor, { kind: 'channel', id }, async (tx, nowMs) => {
    if (isId(id)) await tx.schedulers.lockNaming(actor.accountId, id)
    return withChannel(tx, actor.accountId, id, async (channel): ChannelResult<true> => {
      const engines = await tx.engines.ofChannel(id)
      const running = engines.find(({ status }) => !isIdle(status))
      if (running || !isIdle(channel.status)) return err(stillRuns(channel, running))
      const parts = await deletedParts(tx, channel, engines)
      const schedulerChanges = await forgetTarget(tx, nowMs, actor.accountId, { channelId: id })
      await tx.channels.delete(id)
      const deleted = { object: objectOf(channel), verb: 'deleted', before: auditView(channel) }
      await recordChanges(ctx, tx, actor, ...parts, ...schedulerChanges, deleted)
      return ok(true)
    })
  })
}

/** The same events for the parts of a deleted channel as if each part was deleted alone. */
async function deletedParts(tx: Tx, channel: Channel, engines: readonly Engine[]): Promise<ResourceChange[]> {
  const events = (type: PartType, part: { id: string; name: string }, ...verbs: string[]): ResourceChange[] =>
    verbs.map((verb) => ({ object: partObject(type, part, channel), verb, isEventOnly: true }))
  const ingests = await tx.ingests.ofChannel(channel.id)
  const distributions = await tx.distributions.ofChannel(channel.id)
  return [
    ...ingests.flatMap((one) => events('ingest', one, 'deleted')),
    ...engines.flatMap((one) => events('engine', one, 'deleting', 'deleted')),
    ...distributions.flatMap((one) => events('distribution', one, 'deleted')),
  ]
}

/** One page of channels, newest first. */
export async function listChannels(
  ctx: ChannelContext,
  accountId: string,
  query: Record<string, unknown>,
): ChannelResult<KeysetPage<ChannelRecord>> {
  const read = readChannelQuery(query)
  if (!read.ok) return read
  const { limit, cursor, filters } = read.value
  const { status: statuses, id: ids, ...texts } = filters
  const selection = { ...texts, ...(statuses ? { statuses } : {}), ...(ids ? { ids } : {}) }
  const named = { ...texts, status: statuses?.join(), id: ids?.join() }
  const page = await channelPage(ctx, {
    scope: { list: 'channels', filters: { accountId, ...named } },
    limit,
    cursor,
    keyOf: (row: Channel) => [row.createdAtMs, row.id],
    read: (position, most) =>
      ctx.store.read.channels.page({ accountId, ...selection, limit: most, ...newestAfter(position) }),
  })
  return page.ok ? ok({ ...page.value, data: page.value.data.map(toChannelRecord) }) : page
}

/** Turns the unique violation of an external id into a refusal. */
async function unlessTaken<T>(work: () => ChannelResult<T>): ChannelResult<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Conflict)) throw error
    const which = 'Another channel of this account has one of these externalIds'
    return err(refusal('external_id_taken', `${which}; find it with GET /v2/channels?externalId=…`))
  }
}

function stillRuns(channel: Channel, engine: Engine | undefined): ChannelFailure {
  const what = engine ? `its engine ${engine.id} is ${engine.status}` : `it is ${channel.status}`
  return refusal('channel_running', `The channel runs (${what}); stop it first: POST /v2/channels/${channel.id}/stop`)
}

const objectOf = ({ id, name }: Channel) => ({ type: 'channel', id, name }) as const

const auditView = ({ name, externalIds, timeoutSeconds }: Channel) => ({ name, externalIds, timeoutSeconds })
