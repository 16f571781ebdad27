import { newSecret, sha256 } from '../../base/crypto.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { type ChannelFailure, noSuch, refusal } from '../../core/channels/errors.ts'
import {
  type IngestSecrets,
  type NewIngest,
  readCreateIngest,
  readUpdateIngest,
  toIngestRecord,
} from '../../core/channels/ingest.ts'
import type { IngestRecord } from '../../core/channels/ingestSchema.ts'
import { type PageRequest, readPlainQuery } from '../../core/channels/listQuery.ts'
import type { Protocol } from '../../core/access/protocols.ts'
import { type Channel, type Engine, INGEST_FACTS, isIdle, isPush } from '../../core/channels/types.ts'
import type { StoredIngest, Tx } from '../../store/store.ts'
import type { Actor, ChannelContext, CommandContext } from '../context.ts'
import { type KeysetPage, newestAfter } from '../pages.ts'
import {
  type ChannelResult,
  checked,
  deleteReported,
  isId,
  channelPage,
  newId,
  type ChannelReader,
  partObject,
  recordChanges,
  type ResourceChange,
  room,
  withChannel,
  withPart,
} from './channelCommand.ts'
import { SEALED_COLUMNS } from '../../core/sealed.ts'

const { context: SECRET_CONTEXT } = SEALED_COLUMNS.ingest
/** 128 bits, as 32 characters that every publisher accepts. */
const KEY_BYTES = 16

/** What an operator may choose for a new ingest, and a client of the API may not. */
export interface ChosenIngest {
  readonly id?: string | undefined
  /** Of a push. */
  readonly streamKey?: string | undefined
}

/** Creates an ingest of a channel. A push gets its URL and its stream key. */
export async function createIngest(
  ctx: ChannelContext,
  actor: Actor,
  channelId: string,
  body: unknown,
  chosen: ChosenIngest = {},
): ChannelResult<IngestRecord> {
  const read = checked(readCreateIngest(body, ctx.channelSettings))
  if (!read.ok) return read
  const made = await ctx.store.transaction((tx) =>
    withChannel(tx, actor.accountId, channelId, async (channel): ChannelResult<StoredIngest> => {
      const free = room('ingests', await tx.ingests.count(channelId))
      if (!free.ok) return free
      const ingest = newIngest(ctx, channel, read.value, chosen)
      await tx.ingests.insert(ingest)
      await recordChanges(ctx, tx, actor, createdIngest(ingest, channel))
      return ok(ingest)
    }),
  )
  return answered(ctx, made, 'created')
}

export async function readIngest(ctx: ChannelContext, reader: ChannelReader, id: string): ChannelResult<IngestRecord> {
  const ingest = isId(id) ? await ctx.store.read.ingests.get(reader.accountId, id) : undefined
  return ingest ? ok(shownTo(ctx, reader, ingest)) : err(noSuch('ingest', id))
}

/** Edits an ingest. Its type, URL, region and tracks can change only while no running engine uses it. */
export async function updateIngest(
  ctx: ChannelContext,
  actor: Actor,
  id: string,
  body: unknown,
): ChannelResult<IngestRecord> {
  const made = await ctx.store.transaction((tx) =>
    withPart(tx, actor, ingestPart(tx, id), async (before, channel): ChannelResult<StoredIngest> => {
      const { type, region, audio } = before
      const { url: shownUrl } = ingestRecord(ctx, before)
      const source = { type, region, audio, url: isPush(type) ? null : openSecret(ctx, before), shownUrl }
      const patch = checked(readUpdateIngest(body, source, ctx.channelSettings))
      if (!patch.ok) return patch
      const { url, ...rules } = patch.value
      const isMoved = [rules.type, url, rules.region, rules.audio].some((changed) => changed !== undefined)
      const busy = isMoved ? (await usersOf(tx, before)).find(({ status }) => !isIdle(status)) : undefined
      if (busy) return err(inUse(`its engine ${busy.id} is ${busy.status}; stop it first`))
      const after = { ...before, ...rules, ...secretAfter(ctx, before, patch.value) }
      await tx.ingests.replace(after)
      const isRemote = url !== undefined && url !== source.url
      const states = {
        before: auditView(before),
        after: { ...auditView(after), ...(isRemote ? { sourceChanged: true } : {}) },
      }
      await recordChanges(ctx, tx, actor, { object: objectOf(after, channel), verb: 'updated', ...states })
      return ok(after)
    }),
  )
  return answered(ctx, made, 'updated')
}

/** Deletes an ingest that no engine uses. */
export function deleteIngest(ctx: ChannelContext, actor: Actor, id: string): ChannelResult<true> {
  return deleteReported(ctx, actor, { kind: 'ingest', id }, (tx) =>
    withPart(tx, actor, ingestPart(tx, id), async (ingest, channel): ChannelResult<true> => {
      const users = await usersOf(tx, ingest)
      const names = users.slice(0, 5).map((engine) => engine.id)
      if (users.length > 0) return err(inUse(`delete or reconnect its engines first: ${names.join(', ')}`))
      await tx.ingests.delete(id)
      const object = objectOf(ingest, channel)
      await recordChanges(ctx, tx, actor, { object, verb: 'deleted', before: auditView(ingest) })
      return ok(true)
    }),
  )
}

/**
 * Gives a push a new stream key, or the chosen one. Sluice cuts a publisher that uses the old key, and refuses that key
 * from then on.
 */
export async function rotateKey(
  ctx: ChannelContext,
  actor: Actor,
  id: string,
  chosen: string = newSecret(ctx.random, KEY_BYTES),
): ChannelResult<IngestRecord> {
  const made = await ctx.store.transaction((tx) =>
    withPart(tx, actor, ingestPart(tx, id), async (before, channel): ChannelResult<StoredIngest> => {
      if (!isPush(before.type)) {
        return err(refusal('ingest_without_key', `Only push ingests have a stream key; this one is ${before.type}`))
      }
      const after = { ...before, ...seal(ctx, chosen, true) }
      await tx.ingests.replace(after)
      await recordChanges(ctx, tx, actor, { object: objectOf(after, channel), verb: 'key_rotated' })
      return ok(after)
    }),
  )
  return answered(ctx, made, 'key_rotated')
}

/** One page of the ingests of a channel, newest first. */
export async function listIngests(
  ctx: ChannelContext,
  reader: ChannelReader,
  channelId: string,
  query: Record<string, unknown>,
): ChannelResult<KeysetPage<IngestRecord>> {
  const read = readPlainQuery(query)
  if (!read.ok) return read
  const channel = isId(channelId) ? await ctx.store.read.channels.get(reader.accountId, channelId) : undefined
  return channel ? pageOfIngests(ctx, reader, channelId, read.value) : err(noSuch('channel', channelId))
}

/** As `listIngests`, of a channel that the account has. */
export async function pageOfIngests(
  ctx: ChannelContext,
  reader: ChannelReader,
  channelId: string,
  query: PageRequest,
): ChannelResult<KeysetPage<IngestRecord>> {
  const page = await channelPage(ctx, {
    scope: { list: 'ingests', filters: { channelId } },
    ...query,
    keyOf: (row: StoredIngest) => [row.createdAtMs, row.id],
    read: (position, limit) => ctx.store.read.ingests.page({ channelId, limit, ...newestAfter(position) }),
  })
  return page.ok ? ok({ ...page.value, data: page.value.data.map((row) => shownTo(ctx, reader, row)) }) : page
}

/** Longer than any stream key; a longer text needs no query. */
const KEY_MAX = 128

/** The ingest of this stream key, for a publisher that connects over a protocol. */
export async function findByStreamKey(
  ctx: Pick<CommandContext, 'store'>,
  streamKey: string,
  protocol: Protocol,
): Promise<StoredIngest | undefined> {
  if (streamKey === '' || streamKey.length > KEY_MAX) return undefined
  const found = await ctx.store.read.ingests.findByKeyHash(sha256(streamKey))
  return found && INGEST_FACTS[found.type].protocol === protocol ? found : undefined
}

/** The source URL of a pull. Throws if it was sealed with a key that this node does not have. */
export const sourceOf = (ctx: Pick<CommandContext, 'sealer'>, ingest: StoredIngest): string => openSecret(ctx, ingest)

export function newIngest(
  ctx: ChannelContext,
  channel: Channel,
  rules: NewIngest,
  { id, streamKey }: ChosenIngest = {},
): StoredIngest {
  const { url, ...shown } = rules
  const push = isPush(rules.type)
  return {
    ...shown,
    id: id ?? newId(ctx, 'in'),
    accountId: channel.accountId,
    channelId: channel.id,
    createdAtMs: ctx.clock.now(),
    ...seal(ctx, push ? (streamKey ?? newSecret(ctx.random, KEY_BYTES)) : (url ?? ''), push),
  }
}

export const createdIngest = (ingest: StoredIngest, channel: Channel): ResourceChange => ({
  object: objectOf(ingest, channel),
  verb: 'created',
  after: auditView(ingest),
})

export const ingestRecord = (ctx: ChannelContext, ingest: StoredIngest): IngestRecord =>
  toIngestRecord(ingest, secretsOf(ctx, ingest), ctx.channelSettings)

function secretsOf(ctx: ChannelContext, ingest: StoredIngest): IngestSecrets {
  const secret = openSecret(ctx, ingest)
  const [passphrase] = ctx.srtPassphrases(secret)
  return { secret, passphrase }
}

const shownTo = (ctx: ChannelContext, { seesSecrets }: ChannelReader, ingest: StoredIngest): IngestRecord =>
  seesSecrets ? ingestRecord(ctx, ingest) : toIngestRecord(ingest, null, ctx.channelSettings)

/** A new type needs a new kind of secret; a push keeps its key. */
function secretAfter(
  ctx: ChannelContext,
  before: StoredIngest,
  { type = before.type, url }: Partial<NewIngest>,
): Partial<Pick<StoredIngest, 'secretSealed' | 'keyHash'>> {
  if (isPush(type)) return isPush(before.type) ? {} : seal(ctx, newSecret(ctx.random, KEY_BYTES), true)
  return url === undefined || url === null ? {} : seal(ctx, url, false)
}

function seal(ctx: ChannelContext, secret: string, isKey: boolean): Pick<StoredIngest, 'secretSealed' | 'keyHash'> {
  return { secretSealed: ctx.sealer.seal(secret, SECRET_CONTEXT), keyHash: isKey ? sha256(secret) : null }
}

function openSecret({ sealer }: Pick<CommandContext, 'sealer'>, { secretSealed }: StoredIngest): string {
  const opened = sealer.open(secretSealed, SECRET_CONTEXT)
  if (!opened.ok) throw new Error(`an ingest's secret cannot be opened with this node's sealing key: ${opened.error}`)
  return opened.value.toString('utf8')
}

const ingestPart = (tx: Tx, id: string) => ({ what: 'ingest', id, of: tx.ingests }) as const

const usersOf = async (tx: Tx, { id, channelId }: StoredIngest): Promise<Engine[]> =>
  (await tx.engines.ofChannel(channelId)).filter(({ ingestId }) => ingestId === id)

const inUse = (why: string): ChannelFailure => refusal('ingest_in_use', `The ingest is in use: ${why}`)

function answered(
  ctx: ChannelContext,
  made: Result<StoredIngest, ChannelFailure>,
  what: 'created' | 'updated' | 'key_rotated',
): Result<IngestRecord, ChannelFailure> {
  if (!made.ok) return made
  const { accountId, id } = made.value
  ctx.channelChanged({ kind: 'ingest', what, accountId, id })
  return ok(ingestRecord(ctx, made.value))
}

const objectOf = (ingest: StoredIngest, channel: Channel) => partObject('ingest', ingest, channel)

/** The fields in an audit row. The source URL stays sealed, because any part of a URL may contain a key. */
const auditView = ({ name, type, region, audio, channelId }: StoredIngest) => ({ name, type, region, audio, channelId })
