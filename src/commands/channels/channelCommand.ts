import { type IdPrefix, prefixedId } from '../../base/ids.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { type ChannelFailure, noSuch, refusal } from '../../core/channels/errors.ts'
import { CHILDREN_MAX, type Channel } from '../../core/channels/types.ts'
import type { FieldErrors } from '../../core/errors.ts'
import { validationFailed } from '../../core/channels/errors.ts'
import { isChannelEvent } from '../../core/channels/webhooks/events.ts'
import type { Tx } from '../../store/store.ts'
import { type Actor, type ChannelContext, type CommandContext, audit } from '../context.ts'
import { emitChannelEvent } from './webhooks/emit.ts'
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

/** The object of a change. */
export interface ChangedObject {
  type: 'channel' | 'ingest' | 'engine' | 'distribution' | 'abr_ladder' | 'scheduler' | 'webhook'
  id: string
  name: string
  /** The channel of the object. */
  channelId?: string
  /** Read from the store if absent. */
  channelName?: string
}

/**
 * Records a change of a channel's resource, in the transaction of the change itself. `before` and `after` must be free
 * of secrets.
 */
export async function auditChange(
  tx: Tx,
  actor: Actor,
  atMs: number,
  object: ChangedObject,
  change: { verb: string; before?: unknown; after?: unknown },
): Promise<void> {
  const { verb, ...states } = change
  await audit(tx, actor, atMs, { action: `${object.type}.${verb}`, subject: object.id, ...states })
  await emitChange(tx, { accountId: actor.accountId, atMs }, object, verb)
}

/** Emits the webhook event of a change, if there is one for it. */
export async function emitChange(
  tx: Tx,
  on: { accountId: string; atMs: number },
  { type, id, name, channelId, channelName }: ChangedObject,
  verb: string,
): Promise<void> {
  const event = `${type}.${verb}`
  if (type === 'abr_ladder' || !isChannelEvent(event)) return
  const object = { type, id, name }
  if (channelId === undefined) return emitChannelEvent(tx, on, { name: event, object, data: null })
  const parentName = channelName ?? (await tx.channels.get(on.accountId, channelId))?.name ?? ''
  const parent = { type: 'channel' as const, id: channelId, name: parentName }
  await emitChannelEvent(tx, on, { name: event, object: { ...object, parent }, data: null })
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
  part: { what: string; id: string; get: (accountId: string, id: string) => Promise<P | undefined> },
  work: (part: P, channel: Channel) => ChannelResult<T>,
): ChannelResult<T> {
  const none = err(noSuch(part.what, part.id))
  const found = isId(part.id) ? await part.get(actor.accountId, part.id) : undefined
  if (!found) return none
  return withChannel(tx, actor.accountId, found.channelId, async (channel) => {
    // Read it again: it may have changed between the first read and the lock.
    const current = await part.get(actor.accountId, part.id)
    return current ? work(current, channel) : none
  })
}

/** Checks that the channel has room for `more` of these. */
export function room(what: string, there: readonly unknown[], more = 1): Result<true, ChannelFailure> {
  if (there.length + more <= CHILDREN_MAX) return ok(true)
  return err(refusal('too_many', `A channel has at most ${CHILDREN_MAX} ${what}; there are ${there.length}`))
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
