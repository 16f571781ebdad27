import { err, ok, type Result } from '../../base/result.ts'
import { failure, type Failure } from '../../core/errors.ts'
import { type Actor, type CommandContext, audit, cliActor } from '../context.ts'
import { askOverStore, type WaitOptions } from './askOverStore.ts'
import { noNode } from './drain.ts'

/** A key that a reload changed, or would change. Values of secrets are left out. */
export interface ReloadedKey {
  readonly key: string
  readonly from: unknown
  readonly to: unknown
}

/** What a reload of the configuration did, or, as a check, would do. */
export interface ReloadAnswer {
  /** False: nothing was changed, because of `problems`. */
  readonly ok: boolean
  readonly applied: readonly ReloadedKey[]
  /** Keys that changed and need a restart. */
  readonly needRestart: readonly ReloadedKey[]
  /** Sentences with key and location. */
  readonly problems: readonly string[]
}

/** What a serving node does at a request. It never rejects. */
export type Reload = (request: { readonly isCheck: boolean }) => Promise<ReloadAnswer>

const ANSWERED_AT_ONCE = 10
/** A node looks every second. A reload itself takes milliseconds, but the node's store may be slow. */
const WAIT_MS = 20_000

/** Asks a serving node to reload, and waits. Null: it did not answer. */
export async function askForReload(
  ctx: CommandContext,
  nodeId: string,
  { isCheck, pause }: { readonly isCheck: boolean } & Pick<WaitOptions, 'pause'>,
): Promise<ReloadAnswer | null> {
  const answer = await askOverStore(ctx, { nodeId, isCheck, report: null }, { waitMs: WAIT_MS, pause })
  return answer === null ? null : (JSON.parse(answer) as ReloadAnswer)
}

/** Makes a node read its configuration again. The audit log says who asked for it. */
export async function reloadNode(
  ctx: CommandContext,
  actor: Actor,
  id: string,
): Promise<Result<ReloadAnswer, Failure>> {
  const nodes = await ctx.store.read.nodes.list()
  if (!nodes.some((node) => node.id === id)) return err(noNode(id))
  await ctx.store.transaction((tx) => audit(tx, actor, ctx.clock.now(), { action: 'node.reload', subject: id }))
  const answer = await askForReload(ctx, id, { isCheck: false, pause: (ms) => ctx.clock.sleep(ms) })
  return answer === null ? err(failure('unavailable', NO_ANSWER)) : ok(answer)
}

const NO_ANSWER = `The node did not answer within ${WAIT_MS / 1000} seconds; its log says why`

/** Does what was requested of this node, and answers. Call it when requests are due, within a second. */
export async function answerReloads(ctx: CommandContext, nodeId: string, reload: Reload): Promise<void> {
  if (nodeId === '') return
  for (const { id, isCheck } of await ctx.store.read.reloads.waiting(nodeId, ANSWERED_AT_ONCE)) {
    const answer = await reload({ isCheck })
    await ctx.store.transaction((tx) => tx.reloads.answer(id, JSON.stringify(answer)))
  }
}

/** Records applied keys in the audit log of every account, because they apply to all. */
export async function auditReload(ctx: CommandContext, applied: readonly ReloadedKey[]): Promise<void> {
  const values = (of: 'from' | 'to') => Object.fromEntries(applied.map((change) => [change.key, change[of]]))
  const states = { before: values('from'), after: values('to'), isDifference: true }
  const change = { action: 'config.reload', subject: 'config', ...states }
  await ctx.store.transaction(async (tx) => {
    for (const { id } of await tx.accounts.list()) await audit(tx, cliActor(id), ctx.clock.now(), change)
  })
}
