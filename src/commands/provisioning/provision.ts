import { err, ok, type Result } from '../../base/result.ts'
import { withoutSecrets } from '../../core/provisioning/difference.ts'
import { labelOf } from '../../core/provisioning/names.ts'
import {
  PROVISION_KINDS,
  type ChangedSetting,
  type ProvisionChange,
  type ProvisionItem,
  type ProvisionKind,
  type ProvisionProblem,
} from '../../core/provisioning/types.ts'
import { Conflict, type Provisioned, type Tx } from '../../store/store.ts'
import type { Actor, ChannelChange, Context } from '../context.ts'
import { provisionedChannels } from './channels.ts'
import { provisionedDefaults } from './accountDefaults.ts'
import type { ItemProblems, Provisioning, ProvisionedKind, Touched } from './kind.ts'
import { provisionedTokens } from './tokens.ts'
import { provisionedChannelWebhooks } from './channelWebhooks.ts'
import { provisionedLadders } from './ladders.ts'
import { provisionedPulls } from './pulls.ts'
import { provisionedSchedulers } from './schedulers.ts'
import { provisionedWebhooks } from './webhooks.ts'

export interface ProvisionRequest {
  readonly accountId: string
  readonly items: readonly ProvisionItem[]
  /** Delete what earlier files made and these do not name. */
  readonly prune: boolean
  /** Change nothing; say what would be changed. */
  readonly isCheck: boolean
}

const KINDS: Readonly<Record<ProvisionKind, ProvisionedKind>> = {
  accountDefaults: provisionedDefaults,
  publishTokens: provisionedTokens('publish'),
  subscribeTokens: provisionedTokens('subscribe'),
  pulls: provisionedPulls,
  webhooks: provisionedWebhooks,
  abrLadders: provisionedLadders,
  channels: provisionedChannels,
  schedulers: provisionedSchedulers,
  channelWebhooks: provisionedChannelWebhooks,
}

/** Rolls the transaction back. */
class Undone extends Error {
  readonly result: Result<ProvisionChange[], ProvisionProblem[]>

  constructor(result: Undone['result']) {
    super('provisioning was undone')
    this.result = result
  }
}

/**
 * Makes and changes what files describe, in one transaction: all of it, or nothing when anything is refused. A check does
 * the same and undoes it, so that it finds the same problems.
 */
export async function provision(
  ctx: Context,
  request: ProvisionRequest,
): Promise<Result<ProvisionChange[], ProvisionProblem[]>> {
  let channelChanges: ChannelChange[] = []
  const touched: Touched = { tokens: new Set(), accounts: new Set() }
  try {
    const changes = await ctx.store.transaction(async (tx) => {
      // The store may run a transaction again.
      channelChanges = []
      // Two nodes that start at once apply one after another: the second waits for this row.
      await tx.provisioned.put(request.accountId, LOCK)
      const rows = await tx.provisioned.list(request.accountId)
      await lockInOrder(tx, request.accountId, rows)
      const within = {
        tx,
        actor: provisioningActor(request.accountId),
        ctx: contextOf(ctx, tx, channelChanges),
        touched,
        rows,
        prune: request.prune,
      }
      const result = await applyAll(within, request.items)
      if (!result.ok || request.isCheck) throw new Undone(result)
      return result.value
    })
    for (const change of channelChanges) ctx.channelChanged(change)
    return ok(changes)
  } catch (error) {
    if (error instanceof Undone) return error.result
    throw error
  } finally {
    // The commands did so before the commit, and a decision meanwhile may have cached them again.
    for (const id of touched.tokens) ctx.cache.forgetToken(id)
    for (const id of touched.accounts) ctx.cache.forgetAccount(id)
  }
}

const provisioningActor = (accountId: string): Actor => ({
  kind: 'provisioning',
  accountId,
  address: null,
  requestId: null,
})

/** The context of commands inside of the transaction: their transactions are a part of it. */
const contextOf = (ctx: Context, tx: Tx, channelChanges: ChannelChange[]): Context => ({
  ...ctx,
  store: { ...ctx.store, transaction: (work) => work(tx) },
  channelChanged: (change) => void channelChanges.push(change),
})

/**
 * Files name things in an order of their own. A scheduler that begins meanwhile locks its channels in the order of their ids, and
 * holds its own row: so do the deletions of a channel and an engine, which any scheduler may name.
 */
async function lockInOrder(tx: Tx, accountId: string, rows: readonly Provisioned[]): Promise<void> {
  const idsOf = (kind: ProvisionKind): string[] =>
    rows.filter((row) => row.kind === kind).map(({ resourceId }) => resourceId)
  const [channels, own] = [idsOf('channels'), new Set(idsOf('schedulers'))]
  if (channels.length + own.size === 0) return
  const schedulers = await tx.schedulers.lockAll(accountId)
  const targets = schedulers.flatMap((one) => (own.has(one.id) ? one.channels.map(({ channelId }) => channelId) : []))
  for (const id of new Set([...channels, ...targets].toSorted())) await tx.channels.lock(accountId, id)
}

async function applyAll(
  within: Provisioning,
  items: readonly ProvisionItem[],
): Promise<Result<ProvisionChange[], ProvisionProblem[]>> {
  const before = within.rows.filter(({ kind }) => (PROVISION_KINDS as readonly string[]).includes(kind))
  const byLabel = new Map(before.map((row) => [labelOf(row), row]))
  const changes: ProvisionChange[] = []
  const problems: ProvisionProblem[] = []
  for (const item of items.toSorted((a, b) => positionOf(a) - positionOf(b))) {
    const done = await applyItem(within, item, byLabel.get(labelOf(item))).catch(refusedAsTaken)
    if (done.ok) changes.push(...done.value)
    else problems.push(...located(item, done.error))
    // On PostgreSQL a refused statement ends the transaction, and what follows would fail for that reason alone.
    if (!done.ok) break
  }
  const named = new Set(items.map(labelOf))
  for (const row of before.toSorted(lastMadeFirst)) {
    if (problems.length > 0 || named.has(labelOf(row))) continue
    const done = await leaveOrDelete(within, row)
    if (done.ok) changes.push(done.value)
    else problems.push(...done.error.map(({ message }) => ({ location: labelOf(row), message })))
  }
  return problems.length > 0 ? err(problems) : ok(changes)
}

/** A value or an id of the file that something else has. */
function refusedAsTaken(error: unknown): Result<never, ItemProblems> {
  if (error instanceof Conflict) return err([{ path: '', message: error.message }])
  throw error
}

const lastMadeFirst = (a: Provisioned, b: Provisioned): number => positionOf(b) - positionOf(a)

const positionOf = ({ kind }: Pick<Provisioned, 'kind'>): number => PROVISION_KINDS.indexOf(kind as ProvisionKind)

const LOCK: Provisioned = { kind: 'lock', name: '', resourceId: '' }

const located = (item: ProvisionItem, problems: ItemProblems): ProvisionProblem[] =>
  problems.map(({ path, message }) => ({
    location: item.locationOf(path),
    message: `${[labelOf(item), ...(path === '' ? [] : [path])].join('.')}: ${message}`,
  }))

async function applyItem(
  within: Provisioning,
  item: ProvisionItem,
  row: Provisioned | undefined,
): Promise<Result<ProvisionChange[], ItemProblems>> {
  const kind = KINDS[item.kind]
  const changed = row === undefined ? null : await kind.compare(within, row.resourceId, item)
  if (row === undefined || changed === null) {
    if (row !== undefined) await kind.forgetParts?.(within, row.resourceId)
    const made = await kind.create(within, item)
    if (!made.ok) return made
    await within.tx.provisioned.put(within.actor.accountId, {
      kind: item.kind,
      name: item.name,
      resourceId: made.value,
    })
    const settings = Object.entries(item.body).map(([setting, to]) => ({ setting, from: null, to }))
    return withParts(within, item, made.value, [changeOf(item, 'create', settings)])
  }
  const done = changed.length === 0 ? ok(true) : await kind.update(within, row.resourceId, item, changed)
  if (!done.ok) return done
  return withParts(within, item, row.resourceId, changed.length === 0 ? [] : [changeOf(item, 'update', changed)])
}

const changeOf = (
  item: ProvisionItem,
  verb: ProvisionChange['verb'],
  settings: readonly ChangedSetting[],
): ProvisionChange => ({ kind: item.kind, name: item.name, verb, settings: withoutSecrets(item, settings) })

/** The changes, and what is done with parts that the file does not name any more. */
async function withParts(
  within: Provisioning,
  item: ProvisionItem,
  id: string,
  changes: readonly ProvisionChange[],
): Promise<Result<ProvisionChange[], ItemProblems>> {
  const { kind, name } = item
  const settled = await KINDS[kind].settleParts?.(within, id, item)
  if (settled?.ok === false) return settled
  const parts = settled?.value.map(({ path, verb }) => ({ kind, name: `${name}.${path}`, verb, settings: [] }))
  return ok([...changes, ...(parts ?? [])])
}

async function leaveOrDelete(within: Provisioning, row: Provisioned): Promise<Result<ProvisionChange, ItemProblems>> {
  const kind = row.kind as ProvisionKind
  const change = { kind, name: row.name, settings: [] }
  if (!within.prune) return ok({ ...change, verb: 'left' })
  const done = await KINDS[kind].delete(within, row.resourceId)
  if (!done.ok) return done
  await KINDS[kind].forgetParts?.(within, row.resourceId)
  await within.tx.provisioned.delete(within.actor.accountId, row)
  return ok({ ...change, verb: 'delete' })
}
