import { type IdPrefix, prefixedId } from '../../base/ids.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { type ChannelFailure, noSuch, refusal, validationFailed } from '../../core/channels/errors.ts'
import { CHILDREN_MAX, type Channel } from '../../core/channels/types.ts'
import type { FieldErrors } from '../../core/errors.ts'
import { type ChannelWebhookEvent, type EventObject, isChannelEvent } from '../../core/channels/webhooks/events.ts'
import type { Tx } from '../../store/store.ts'
import {
  type Actor,
  type AuditedChange,
  type ChannelChange,
  type ChannelContext,
  type CommandContext,
  audit,
} from '../context.ts'
import { emitChannelEvents } from './webhooks/emit.ts'
import { rowsAfter, type WholeOrder } from '../../core/pages/whole.ts'
import { INVALID_CURSOR, type KeysetList, type KeysetPage, paginate } from '../pages.ts'

/** The result of every command of the channels interface. */
export type ChannelResult<T> = Promise<Result<T, ChannelFailure>>

/** The account that reads, and whether it may see stream keys, source URLs and other secrets. */
export interface ChannelReader {
  readonly accountId: string
  /** False for a credential that may only read. */
  readonly seesSecrets: boolean
}

/** Checks the form of an id. Text of another form names nothing and never reaches the store. */
export const isId = (text: string): boolean => /^[a-z]{2}_\w{1,60}$/.test(text)

export const newId = (ctx: Pick<CommandContext, 'clock' | 'random'>, prefix: IdPrefix): string =>
  prefixedId(prefix, ctx.clock.now(), ctx.random)

/** The value, or `validation_failed` with every invalid field. */
export const checked = <T>(read: Result<T, FieldErrors>): Result<T, ChannelFailure> =>
  read.ok ? read : err(validationFailed(read.error))

/** The object of a change. There are no events of ladders. */
export type ChangedObject = EventObject | (Pick<EventObject, 'id' | 'name'> & { readonly type: 'abr_ladder' })

export type PartType = 'ingest' | 'engine' | 'distribution'
type Named = Pick<Channel, 'id' | 'name'>

/** A part of a channel, as the object of changes and events. */
export const partObject = (type: PartType, { id, name }: Named, channel: Named): EventObject => ({
  type,
  id,
  name,
  parent: { type: 'channel', id: channel.id, name: channel.name },
})

/** A change of a channel's resource. Both states must be free of secrets. */
export interface ResourceChange extends Pick<AuditedChange, 'before' | 'after'> {
  readonly object: ChangedObject
  readonly verb: string
  /** True: an event, and part of a change that has an audit row. */
  readonly isEventOnly?: true
}

/**
 * Records changes in their transaction: audit rows, and the webhook events of those that have one. They are dated now: the request may
 * have come before others that had the lock first, and events are listed by their dates.
 */
export async function recordChanges(
  { clock }: Pick<CommandContext, 'clock'>,
  tx: Tx,
  actor: Actor,
  ...changes: readonly ResourceChange[]
): Promise<void> {
  const atMs = clock.now()
  const audited = changes.filter(({ isEventOnly }) => !isEventOnly)
  const rows = audited.map(({ object: { type, id: subject }, verb, before, after }) => {
    return { action: `${type}.${verb}`, subject, before, after }
  })
  await audit(tx, actor, atMs, ...rows)
  await emitChannelEvents(tx, { accountId: actor.accountId, atMs }, ...changes.flatMap(eventsOf))
}

function eventsOf({ object, verb }: ResourceChange): ChannelWebhookEvent[] {
  const name = `${object.type}.${verb}`
  return object.type === 'abr_ladder' || !isChannelEvent(name) ? [] : [{ name, object, data: null }]
}

/** Runs `work` with the channel locked, so that changes of one channel run in sequence. */
export async function withChannel<T>(
  tx: Tx,
  accountId: string,
  channelId: string,
  work: (channel: Channel) => ChannelResult<T>,
): ChannelResult<T> {
  const channel = isId(channelId) ? await tx.channels.lock(accountId, channelId) : undefined
  return channel ? work(channel) : err(noSuch('channel', channelId))
}

/** Runs `work` with one of the account's ingests, engines or distributions, its channel locked. */
export async function withPart<P extends { id: string; channelId: string }, T>(
  tx: Tx,
  actor: Actor,
  part: { what: PartType; id: string; of: { get(accountId: string, id: string): Promise<P | undefined> } },
  work: (part: P, channel: Channel) => ChannelResult<T>,
): ChannelResult<T> {
  const none = err(noSuch(part.what, part.id))
  const found = isId(part.id) ? await part.of.get(actor.accountId, part.id) : undefined
  if (!found) return none
  return withChannel(tx, actor.accountId, found.channelId, async (channel) => {
    // Read it again: it may have changed between the first read and the lock.
    const current = await part.of.get(actor.accountId, part.id)
    return current ? work(current, channel) : none
  })
}

/** Deletes a channel or a part of one in one transaction. Then it reports the change to this process. */
export async function deleteReported(
  ctx: ChannelContext,
  { accountId }: Actor,
  { kind, id }: Pick<ChannelChange, 'kind' | 'id'>,
  work: (tx: Tx, nowMs: number) => ChannelResult<true>,
): ChannelResult<true> {
  const nowMs = ctx.clock.now()
  const gone = await ctx.store.transaction((tx) => work(tx, nowMs))
  if (gone.ok) ctx.channelChanged({ kind, what: 'deleted', accountId, id })
  return gone
}

/** Checks that a channel with `count` of these has room for another one. */
export function room(what: string, count: number): Result<true, ChannelFailure> {
  if (count < CHILDREN_MAX) return ok(true)
  return err(refusal('too_many', `A channel has at most ${CHILDREN_MAX} ${what}; there are ${count}`))
}

/** One page of a list of the channels interface. */
export async function channelPage<R>(ctx: CommandContext, list: KeysetList<R>): ChannelResult<KeysetPage<R>> {
  const page = await paginate(ctx.sign, list)
  return page.ok ? page : err(refusal('invalid_cursor', INVALID_CURSOR))
}

/** One page of a list that is short enough to be read whole. */
export function shortPage<R>(
  ctx: ChannelContext,
  rows: readonly R[],
  list: Omit<KeysetList<R>, 'read'> & WholeOrder<R>,
): ChannelResult<KeysetPage<R>> {
  return channelPage(ctx, { ...list, read: async (position, limit) => rowsAfter(rows, list, position, limit) })
}
