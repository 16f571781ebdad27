import { err, ok } from '../../base/result.ts'
import { noSuch, refusal } from '../../core/channels/errors.ts'
import {
  DEFAULT_LADDER_ID,
  defaultLadder,
  readCreateLadder,
  readUpdateLadder,
  toLadderRecord,
} from '../../core/channels/ladder.ts'
import type { LadderRecord } from '../../core/channels/ladderSchema.ts'
import { readPlainQuery } from '../../core/channels/listQuery.ts'
import type { AbrLadder } from '../../core/channels/types.ts'
import type { Tx } from '../../store/store.ts'
import { hasRoom } from '../accounts/accounts.ts'
import type { Actor, ChannelContext, CommandContext } from '../context.ts'
import type { KeysetPage } from '../pages.ts'
import { type ChannelResult, checked, isId, newId, recordChanges, shortPage } from './channelCommand.ts'

/** Bounds the list, because Sluice reads all of it. */
const LADDERS_MAX = 100

/** Whether this ladder exists. The row is locked until the transaction ends. */
export const hasLadder = async (tx: Tx, accountId: string, id: string): Promise<boolean> =>
  id === DEFAULT_LADDER_ID || (isId(id) && (await tx.abrLadders.lock(accountId, id)) !== undefined)

export const noLadder = (id: string): string => `there is no ladder ${id.slice(0, 64)}; GET /v2/abr lists them`

/** The ladder of an engine; undefined if it does not exist. A ladder in use cannot be deleted. */
export async function ladderOf(
  ctx: Pick<CommandContext, 'store'>,
  accountId: string,
  id: string,
): Promise<AbrLadder | undefined> {
  if (id === DEFAULT_LADDER_ID) return defaultLadder(accountId)
  return isId(id) ? ctx.store.read.abrLadders.get(accountId, id) : undefined
}

export async function createLadder(
  ctx: ChannelContext,
  actor: Actor,
  body: unknown,
  id: string = newId(ctx, 'ab'),
): ChannelResult<LadderRecord> {
  const read = checked(readCreateLadder(body))
  if (!read.ok) return read
  const nowMs = ctx.clock.now()
  const { accountId } = actor
  const times = { createdAtMs: nowMs, updatedAtMs: nowMs }
  const ladder: AbrLadder = { ...read.value, ...times, id, accountId }
  return ctx.store.transaction(async (tx): ChannelResult<LadderRecord> => {
    if (!(await hasRoom(tx, accountId, LADDERS_MAX, async () => (await tx.abrLadders.list(accountId)).length)))
      return err(refusal('too_many', `There are ${LADDERS_MAX} ladders, the most`))
    await tx.abrLadders.insert(ladder)
    await recordChanges(ctx, tx, actor, { object: objectOf(ladder), verb: 'created', after: read.value })
    return ok(toLadderRecord(ladder))
  })
}

export async function readLadder(ctx: ChannelContext, accountId: string, id: string): ChannelResult<LadderRecord> {
  const ladder = await ladderOf(ctx, accountId, id)
  return ladder ? ok(toLadderRecord(ladder)) : err(noSuch('ABR ladder', id))
}

/** Edits a ladder. Engines use the change at their next start. */
export async function updateLadder(
  ctx: ChannelContext,
  actor: Actor,
  id: string,
  body: unknown,
): ChannelResult<LadderRecord> {
  if (id === DEFAULT_LADDER_ID) return err(readOnly)
  const nowMs = ctx.clock.now()
  return ctx.store.transaction(async (tx): ChannelResult<LadderRecord> => {
    const before = isId(id) ? await tx.abrLadders.lock(actor.accountId, id) : undefined
    if (!before) return err(noSuch('ABR ladder', id))
    const patch = checked(readUpdateLadder(body, before))
    if (!patch.ok) return patch
    const after = { ...before, ...patch.value, updatedAtMs: nowMs }
    await tx.abrLadders.replace(after)
    const states = { before: rulesOf(before), after: rulesOf(after) }
    await recordChanges(ctx, tx, actor, { object: objectOf(after), verb: 'updated', ...states })
    return ok(toLadderRecord(after))
  })
}

/** Deletes a ladder that no engine uses. */
export async function deleteLadder(ctx: ChannelContext, actor: Actor, id: string): ChannelResult<true> {
  if (id === DEFAULT_LADDER_ID) return err(readOnly)
  return ctx.store.transaction(async (tx): ChannelResult<true> => {
    const before = isId(id) ? await tx.abrLadders.lock(actor.accountId, id) : undefined
    if (!before) return err(noSuch('ABR ladder', id))
    const user = await tx.engines.usingLadder(id)
    if (user) return err(refusal('abr_ladder_in_use', `The engine ${user.id} of the channel ${user.channelId} uses it`))
    await tx.abrLadders.delete(id)
    await recordChanges(ctx, tx, actor, { object: objectOf(before), verb: 'deleted', before: rulesOf(before) })
    return ok(true)
  })
}

/** One page of the ladders of an account, newest first; the default one is the oldest. */
export async function listLadders(
  ctx: ChannelContext,
  accountId: string,
  query: Record<string, unknown>,
): ChannelResult<KeysetPage<LadderRecord>> {
  const read = readPlainQuery(query)
  if (!read.ok) return read
  const rows = [defaultLadder(accountId), ...(await ctx.store.read.abrLadders.list(accountId))]
  const page = await shortPage(ctx, rows, {
    scope: { list: 'abr_ladders', filters: { accountId } },
    ...read.value,
    direction: 'desc',
    keyOf: (row) => [row.createdAtMs, row.id],
  })
  return page.ok ? ok({ ...page.value, data: page.value.data.map(toLadderRecord) }) : page
}

const readOnly = refusal('abr_ladder_read_only', 'The default ladder is part of Sluice; create one of your own')

const objectOf = ({ id, name }: AbrLadder) => ({ type: 'abr_ladder', id, name }) as const

const rulesOf = ({ name, video, audioKbps, audioOnly }: AbrLadder) => ({ name, video, audioKbps, audioOnly })
