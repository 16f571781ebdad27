import { err, ok } from '../../base/result.ts'
import { readCreateKey, toKeyRecord } from '../../core/channels/distribution.ts'
import type { KeyRecord } from '../../core/channels/distributionSchema.ts'
import { noSuch, refusal } from '../../core/channels/errors.ts'
import { readPlainQuery } from '../../core/channels/listQuery.ts'
import { KEYS_MAX } from '../../core/channels/types.ts'
import type { DistributionKey } from '../../store/store.ts'
import type { Actor, ChannelContext } from '../context.ts'
import type { KeysetPage } from '../pages.ts'
import { newKey } from './distributionKey.ts'
import { distributionPart } from './distributions.ts'
import { type ChannelResult, checked, isId, partObject, recordChanges, shortPage, withPart } from './channelCommand.ts'

/** Adds a key that verifies viewers' tokens. The first key closes the distribution to viewers without a token. */
export async function createKey(
  ctx: ChannelContext,
  actor: Actor,
  id: string,
  body: unknown,
): ChannelResult<KeyRecord> {
  const read = checked(readCreateKey(body, ctx.channelSettings))
  if (!read.ok) return read
  const made = await ctx.store.transaction((tx) =>
    withPart(tx, actor, distributionPart(tx, id), async (distribution, channel): ChannelResult<KeyRecord> => {
      const there = await tx.distributionKeys.list(id)
      if (there.length >= KEYS_MAX) {
        return err(refusal('too_many_keys', `A distribution has at most ${KEYS_MAX} keys; delete one first`))
      }
      const key = newKey(ctx, distribution, read.value)
      await tx.distributionKeys.insert(key)
      const object = partObject('distribution', distribution, channel)
      await recordChanges(ctx, tx, actor, { object, verb: 'security.key.added', after: toKeyRecord(key) })
      return ok(toKeyRecord(key))
    }),
  )
  return changed(ctx, actor, id, made)
}

/** One page of the keys of a distribution, newest first, without their values. */
export async function listKeys(
  ctx: ChannelContext,
  accountId: string,
  id: string,
  query: Record<string, unknown>,
): ChannelResult<KeysetPage<KeyRecord>> {
  const read = readPlainQuery(query)
  if (!read.ok) return read
  const keys = await keysOf(ctx, accountId, id)
  if (!keys.ok) return keys
  const page = await shortPage(ctx, keys.value, {
    scope: { list: 'distribution_keys', filters: { distributionId: id } },
    ...read.value,
    direction: 'desc',
    keyOf: (row) => [row.createdAtMs, row.id],
  })
  return page.ok ? ok({ ...page.value, data: page.value.data.map(toKeyRecord) }) : page
}

export async function readKey(
  ctx: ChannelContext,
  accountId: string,
  id: string,
  keyId: string,
): ChannelResult<KeyRecord> {
  const keys = await keysOf(ctx, accountId, id)
  if (!keys.ok) return keys
  const key = keys.value.find((one) => one.id === keyId)
  return key ? ok(toKeyRecord(key)) : err(noSuch('key', keyId))
}

async function keysOf(ctx: ChannelContext, accountId: string, id: string): ChannelResult<DistributionKey[]> {
  const distribution = isId(id) ? await ctx.store.read.distributions.get(accountId, id) : undefined
  return distribution ? ok(await ctx.store.read.distributionKeys.list(id)) : err(noSuch('distribution', id))
}

/** The result of deleting keys. */
export interface KeysDeleted {
  /** A warning for the user who deleted them; null: none. */
  readonly warning: string | null
}

const STAYS_CLOSED =
  'This was the last key: no viewer is admitted until you add a key; DELETE of security/keys opens the distribution to all'
const IS_OPEN = 'This distribution has no key: every client can watch it without a token'

/**
 * Deletes one key; tokens that it signed are refused from then on. After the last one the distribution stays closed:
 * users delete a key because it leaked, or to replace it.
 */
export async function deleteKey(
  ctx: ChannelContext,
  actor: Actor,
  id: string,
  keyId: string,
): ChannelResult<KeysDeleted> {
  const nowMs = ctx.clock.now()
  const gone = await ctx.store.transaction((tx) =>
    withPart(tx, actor, distributionPart(tx, id), async (distribution, channel): ChannelResult<KeysDeleted> => {
      const keys = await tx.distributionKeys.list(id)
      const key = keys.find((one) => one.id === keyId)
      if (!key) return err(noSuch('key', keyId))
      await tx.distributionKeys.delete(keyId)
      const isLast = keys.length === 1
      if (isLast) await tx.distributions.replace({ ...distribution, closedWithoutKey: true, updatedAtMs: nowMs })
      const object = partObject('distribution', distribution, channel)
      await recordChanges(ctx, tx, actor, { object, verb: 'security.key.deleted', before: toKeyRecord(key) })
      return ok({ warning: isLast ? STAYS_CLOSED : null })
    }),
  )
  return changed(ctx, actor, id, gone)
}

/** Deletes all keys, which opens the distribution to viewers without a token. */
export async function deleteKeys(ctx: ChannelContext, actor: Actor, id: string): ChannelResult<KeysDeleted> {
  const nowMs = ctx.clock.now()
  const gone = await ctx.store.transaction((tx) =>
    withPart(tx, actor, distributionPart(tx, id), async (distribution, channel): ChannelResult<KeysDeleted> => {
      const keys = await tx.distributionKeys.list(id)
      await tx.distributionKeys.clear(id)
      await tx.distributions.replace({ ...distribution, closedWithoutKey: false, updatedAtMs: nowMs })
      const object = partObject('distribution', distribution, channel)
      await recordChanges(ctx, tx, actor, { object, verb: 'security.keys.deleted', before: keys.map(toKeyRecord) })
      return ok({ warning: IS_OPEN })
    }),
  )
  return changed(ctx, actor, id, gone)
}

function changed<T extends { ok: boolean }>(ctx: ChannelContext, actor: Actor, id: string, done: T): T {
  if (done.ok) ctx.channelChanged({ kind: 'distribution', what: 'updated', accountId: actor.accountId, id })
  return done
}
