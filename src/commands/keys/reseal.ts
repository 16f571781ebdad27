import { err, ok, type Result } from '../../base/result.ts'
import type { Sealer } from '../../base/sealer.ts'
import { SEALED_COLUMNS, type SealedKind } from '../../core/sealed.ts'
import type { Node, SealedValue, Tx } from '../../store/store.ts'
import { audit, cliActor, type CommandContext } from '../context.ts'

/** Values in one transaction: few enough that a server on the same SQLite file hardly waits. */
const AT_ONCE = 200

/**
 * Seals every value with the key that seals now. It may be stopped at any moment and run again: each transaction leaves
 * whole values, and every value opens with one of the keys.
 * @param progress called after each transaction with the number of values so far
 * @returns the number of values that another key had sealed, or a sentence about one that no key opens
 */
export async function resealAll(
  ctx: CommandContext,
  progress: (values: number) => void = () => undefined,
): Promise<Result<number, string>> {
  let done = 0
  for (const kind of Object.keys(SEALED_COLUMNS) as SealedKind[]) {
    const resealed = await resealKind(ctx, kind, (values) => progress(done + values))
    if (!resealed.ok) return resealed
    done += resealed.value
  }
  await noteRotation(ctx, done)
  return ok(done)
}

type Query = Parameters<Tx['sealed']['lockOthers']>[1]
type Batch = Result<SealedValue[], string>

async function resealKind(
  ctx: CommandContext,
  kind: SealedKind,
  progress: (values: number) => void,
): Promise<Result<number, string>> {
  let done = 0
  let after: SealedValue['id'] | null = null
  for (;;) {
    const query: Query = { keyId: ctx.sealer.keyId, after, limit: AT_ONCE }
    const batch: Batch = await ctx.store.transaction((tx) => resealBatch(tx, ctx.sealer, kind, query))
    if (!batch.ok) return batch
    const last = batch.value.at(-1)
    if (!last) return ok(done)
    after = last.id
    done += batch.value.length
    progress(done)
  }
}

async function resealBatch(tx: Tx, sealer: Sealer, kind: SealedKind, query: Query): Promise<Batch> {
  const { table, context } = SEALED_COLUMNS[kind]
  const values = await tx.sealed.lockOthers(kind, query)
  for (const { id, sealed } of values) {
    const plain = sealer.open(sealed, context)
    if (!plain.ok)
      return err(`the value of row ${id} in table ${table} opens with no key that is here (${plain.error})`)
    await tx.sealed.replace(kind, { id, sealed: sealer.seal(plain.value, context) })
  }
  return ok(values)
}

async function noteRotation({ store, clock, sealer }: CommandContext, values: number): Promise<void> {
  await store.transaction(async (tx) => {
    for (const { id } of await tx.accounts.list()) {
      await audit(tx, cliActor(id), clock.now(), { action: 'key.rotate', subject: sealer.keyId, after: { values } })
    }
  })
}

/** Live nodes that seal with a key that this process does not know: neither could open what the other seals. */
export const nodesWithUnknownKey = (ctx: CommandContext, isGone: (node: Node) => boolean): Promise<Node[]> =>
  nodesByKey(ctx, isGone, (key) => key !== undefined && !ctx.sealer.knows(key))

/** Live nodes that seal with another key than this process. A node that has not said which counts too. */
export const nodesWithOtherKey = (ctx: CommandContext, isGone: (node: Node) => boolean): Promise<Node[]> =>
  nodesByKey(ctx, isGone, (key) => key !== ctx.sealer.keyId)

async function nodesByKey(
  { store }: CommandContext,
  isGone: (node: Node) => boolean,
  matches: (key: string | undefined) => boolean,
): Promise<Node[]> {
  const keys = await store.read.nodes.keys()
  const nodes = await store.read.nodes.list()
  return nodes.filter((node) => !node.isExpired && !isGone(node) && matches(keys.get(node.id)))
}
