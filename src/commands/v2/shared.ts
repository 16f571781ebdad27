import { type IdPrefix, prefixedId } from '../../base/ids.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { type LiveFailure, noSuch, refusal } from '../../core/live/errors.ts'
import { CHILDREN_MAX, type Channel } from '../../core/live/types.ts'
import type { FieldErrors } from '../../core/errors.ts'
import { validationFailed } from '../../core/live/errors.ts'
import { isLiveEvent } from '../../core/webhooksV2/events.ts'
import type { Tx } from '../../store/store.ts'
import { type Actor, audit, type Context } from '../context.ts'
import { tellLive } from '../v2life/tell.ts'
import { rowsBehind, type WholeOrder } from '../../core/page/whole.ts'
import { INVALID_CURSOR, type KeysetList, type KeysetPage, walk } from '../keysetPage.ts'

/** What every command of the live interface answers. */
export type Answered<T> = Promise<Result<T, LiveFailure>>

/** Who reads: for whose account, and whether with stream keys, sources and the like. */
export interface Reader {
  readonly accountId: string
  /** False for a credential that may only read. */
  readonly seesSecrets: boolean
}

/** What ids look like; a text that is none names nothing, and never reaches the store. */
export const isId = (text: string): boolean => /^[a-z]{2}_\w{1,60}$/.test(text)

export const newId = (ctx: Pick<Context, 'clock' | 'random'>, prefix: IdPrefix): string =>
  prefixedId(prefix, ctx.clock.now(), ctx.random)

/** The value, or `validation_failed` with every field that is wrong. */
export const checked = <T>(read: Result<T, FieldErrors>): Result<T, LiveFailure> =>
  read.ok ? read : err(validationFailed(read.error))

/** What a change is about. */
export interface ChangedObject {
  type: 'channel' | 'ingest' | 'engine' | 'distribution' | 'abr_ladder' | 'scheduler' | 'webhook'
  id: string
  name: string
  /** The channel that it belongs to. */
  channelId?: string
  /** Looked up where it is not said. */
  channelName?: string
}

/**
 * Every change of a live resource is recorded here, in the transaction of the change itself. `before` and `after` must be
 * free of secrets.
 */
export async function record(
  tx: Tx,
  actor: Actor,
  atMs: number,
  object: ChangedObject,
  change: { verb: string; before?: unknown; after?: unknown },
): Promise<void> {
  const { verb, ...states } = change
  await audit(tx, actor, atMs, { action: `${object.type}.${verb}`, subject: object.id, ...states })
  await announce(tx, { accountId: actor.accountId, atMs }, object, verb)
}

/** Tells webhooks of a change, where there is an event for it. */
export async function announce(
  tx: Tx,
  on: { accountId: string; atMs: number },
  { type, id, name, channelId, channelName }: ChangedObject,
  verb: string,
): Promise<void> {
  const event = `${type}.${verb}`
  if (type === 'abr_ladder' || !isLiveEvent(event)) return
  const object = { type, id, name }
  if (channelId === undefined) return tellLive(tx, on, { name: event, object, data: null })
  const parentName = channelName ?? (await tx.channels.get(on.accountId, channelId))?.name ?? ''
  const parent = { type: 'channel' as const, id: channelId, name: parentName }
  await tellLive(tx, on, { name: event, object: { ...object, parent }, data: null })
}

/** Runs `work` with the channel locked, so that changes of one channel follow each other. */
export async function withChannel<T>(
  tx: Tx,
  accountId: string,
  channelId: string,
  work: (channel: Channel) => Answered<T>,
): Answered<T> {
  const channel = isId(channelId) ? await tx.channels.lock(accountId, channelId) : undefined
  return channel ? work(channel) : err(noSuch('channel', channelId))
}

/** Runs `work` with one of the account's ingests, engines or distributions, its channel locked. */
export async function withPart<P extends { id: string; channelId: string }, T>(
  tx: Tx,
  actor: Actor,
  part: { what: string; id: string; get: (accountId: string, id: string) => Promise<P | undefined> },
  work: (part: P, channel: Channel) => Answered<T>,
): Answered<T> {
  const none = err(noSuch(part.what, part.id))
  const found = isId(part.id) ? await part.get(actor.accountId, part.id) : undefined
  if (!found) return none
  return withChannel(tx, actor.accountId, found.channelId, async (channel) => {
    // It was read before the channel was locked, and may have been changed or deleted meanwhile.
    const current = await part.get(actor.accountId, part.id)
    return current ? work(current, channel) : none
  })
}

/** Is there room for `more` of these in the channel? */
export function room(what: string, there: readonly unknown[], more = 1): Result<true, LiveFailure> {
  if (there.length + more <= CHILDREN_MAX) return ok(true)
  return err(refusal('too_many', `A channel has at most ${CHILDREN_MAX} ${what}; there are ${there.length}`))
}

/** One page of a list of the live interface. */
export async function livePage<R>(ctx: Context, list: KeysetList<R>): Answered<KeysetPage<R>> {
  const page = await walk(ctx.sign, list)
  return page.ok ? page : err(refusal('invalid_cursor', INVALID_CURSOR))
}

/** One page of a list that is short enough to be read whole. */
export function shortPage<R>(
  ctx: Context,
  rows: readonly R[],
  list: Omit<KeysetList<R>, 'read'> & WholeOrder<R>,
): Answered<KeysetPage<R>> {
  return livePage(ctx, { ...list, read: async (position, limit) => rowsBehind(rows, list, position, limit) })
}
