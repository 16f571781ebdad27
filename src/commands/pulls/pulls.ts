import { err, ok, type Result } from '../../base/result.ts'
import { compileStreams, covers } from '../../core/access/streamName.ts'
import { failure, invalid, notFound, type Failure, type FieldErrors } from '../../core/errors.ts'
import { readPullCreate, readPullUpdate, toPullRecord } from '../../core/pulls/rules.ts'
import type { PullRecord } from '../../core/pulls/schema.ts'
import { PULL_LIMITS, type Pull, type PullSettings } from '../../core/pulls/types.ts'
import { offTarget } from '../../core/restream/state.ts'
import { SEALED_COLUMNS } from '../../core/sealed.ts'
import type { StoredPull, Tx } from '../../store/store.ts'
import { hasRoom } from '../accounts/accounts.ts'
import { type AccessContext, type Actor, audit } from '../context.ts'

const { context: CONTEXT } = SEALED_COLUMNS.pull

type PullContext = Pick<AccessContext, 'store' | 'sealer' | 'clock' | 'targetPolicy'>

/** The refusal for an unknown pull id. Another account's pull gets exactly the same refusal. */
export const noPull = (id: number | string): Failure =>
  notFound('pullId', `No pull with id: ${String(id).slice(0, 32)}`)

/** Creates a pull from an untrusted body. A node dials its source within a second or two. */
export async function createPull(ctx: PullContext, actor: Actor, body: unknown): Promise<Result<PullRecord, Failure>> {
  const read = readPullCreate(body, ctx.targetPolicy)
  if (!read.ok) return err(invalid(read.error))
  const { settings, source } = read.value
  if (source === null) throw new Error('a new pull has a source')
  const { accountId } = actor
  const nowMs = ctx.clock.now()
  const made = await ctx.store.transaction(async (tx): Promise<Result<StoredPull, Failure>> => {
    const { perAccount } = PULL_LIMITS
    if (!(await hasRoom(tx, accountId, perAccount, async () => (await tx.pulls.list(accountId)).length)))
      return err(failure('conflict', `There are ${perAccount} pulls, the most`))
    const refusal = await refuseToken(tx, accountId, settings)
    if (refusal !== null) return err(invalid(refusal))
    const fresh = { accountId, version: 1, addedAtMs: nowMs, demandAtMs: 0, node: null, state: offTarget(nowMs) }
    const urlSealed = ctx.sealer.seal(source.url, CONTEXT)
    const stored = await tx.pulls.insert({ ...settings, ...fresh, shownUrl: source.shownUrl, urlSealed })
    await audit(tx, actor, nowMs, { action: 'pull.create', subject: String(stored.id), after: auditView(stored) })
    return ok(stored)
  })
  return made.ok ? ok(toPullRecord(made.value, { nowMs, isRunning: false, seesSecrets: true })) : made
}

/** @param seesSecrets whether the reader may see more of a source than its host */
export async function readPull(
  ctx: PullContext,
  accountId: string,
  id: number,
  seesSecrets: boolean,
): Promise<Result<PullRecord, Failure>> {
  const pull = await ctx.store.read.pulls.get(accountId, id)
  return pull ? ok(await recordOf(ctx, pull, seesSecrets)) : err(noPull(id))
}

/** All pulls of an account, in the order of creation. */
export async function listPulls(ctx: PullContext, accountId: string, seesSecrets: boolean): Promise<PullRecord[]> {
  const pulls = await ctx.store.read.pulls.list(accountId)
  const record = pulls.length === 0 ? null : await recorder(ctx, seesSecrets)
  return record === null ? [] : pulls.map(record)
}

/** Edits a pull. Its node ends what runs, and dials again; a live one with the same source, stream and token stays on the air. */
export async function updatePull(
  ctx: PullContext,
  actor: Actor,
  id: number,
  body: unknown,
): Promise<Result<PullRecord, Failure>> {
  const { accountId } = actor
  const nowMs = ctx.clock.now()
  const changed = await ctx.store.transaction(async (tx): Promise<Result<StoredPull, Failure>> => {
    const found = await tx.pulls.get(accountId, id)
    if (!found) return err(noPull(id))
    const first = readPullUpdate(body, ctx.targetPolicy, found)
    if (!first.ok) return err(invalid(first.error))
    // Before the pull: to delete a token locks them in this order.
    await tx.tokens.lock(accountId, 'publish', first.value.settings.tokenId)
    const before = await tx.pulls.lock(accountId, id)
    if (!before) return err(noPull(id))
    // Once more: another edit may have changed the pull before it was locked.
    const read = readPullUpdate(body, ctx.targetPolicy, before)
    if (!read.ok) return err(invalid(read.error))
    const { settings, source } = read.value
    const refusal = await refuseToken(tx, accountId, settings)
    if (refusal !== null) return err(invalid(refusal))
    const sealed = source === null ? {} : { shownUrl: source.shownUrl, urlSealed: ctx.sealer.seal(source.url, CONTEXT) }
    const after = { ...before, ...settings, ...sealed, version: before.version + 1 }
    await tx.pulls.replace(after)
    const states = { before: auditView(before), after: auditView(after) }
    await audit(tx, actor, nowMs, { action: 'pull.update', subject: String(id), ...states })
    return ok(after)
  })
  return changed.ok ? ok(await recordOf(ctx, changed.value, true)) : changed
}

/** Deletes a pull. Its node ends what runs within a second or two. */
export async function deletePull(ctx: PullContext, actor: Actor, id: number): Promise<Result<true, Failure>> {
  const nowMs = ctx.clock.now()
  const found = await ctx.store.transaction(async (tx) => {
    const before = await tx.pulls.lock(actor.accountId, id)
    if (!before) return false
    await tx.pulls.delete(id)
    await audit(tx, actor, nowMs, { action: 'pull.delete', subject: String(id), before: auditView(before) })
    return true
  })
  return found ? ok(true) : err(noPull(id))
}

/** Locks the token. Each dial decides by it again. */
async function refuseToken(
  tx: Tx,
  accountId: string,
  { tokenId, streamName }: PullSettings,
): Promise<FieldErrors | null> {
  const token = await tx.tokens.lock(accountId, 'publish', tokenId)
  if (!token) return { tokenId: [`No publish token with id: ${tokenId}`] }
  const streams = compileStreams(token.streams)
  return streams.ok && covers(streams.value, streamName)
    ? null
    : { streamName: [`must be a stream that publish token ${tokenId} may publish`] }
}

const recordOf = async (ctx: PullContext, pull: StoredPull, seesSecrets: boolean): Promise<PullRecord> =>
  (await recorder(ctx, seesSecrets))(pull)

/** Makes records of pulls by the nodes that serve now. */
async function recorder(
  { store, clock }: PullContext,
  seesSecrets: boolean,
): Promise<(pull: StoredPull) => PullRecord> {
  const nodes = new Set((await store.read.nodes.list()).map(({ id }) => id))
  const isRunning = ({ node }: StoredPull): boolean => node !== null && nodes.has(node)
  return (pull) => toPullRecord(pull, { nowMs: clock.now(), isRunning: isRunning(pull), seesSecrets })
}

/** The URL of a stored pull. Throws if it was sealed with a key that this node does not have. */
export function openPullUrl({ sealer }: Pick<PullContext, 'sealer'>, { urlSealed }: StoredPull): string {
  const opened = sealer.open(urlSealed, CONTEXT)
  if (!opened.ok) throw new Error(`the URL of a pull cannot be opened with this node's sealing key: ${opened.error}`)
  return opened.value.toString('utf8')
}

/** A pull in an audit row: without its URL in any form that opens. */
function auditView({
  urlSealed: _sealed,
  node: _node,
  state: _state,
  lastProblem: _lastProblem,
  demandAtMs: _demand,
  ...shown
}: StoredPull): Partial<Pull> {
  return shown
}
