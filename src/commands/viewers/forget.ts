import { err, ok, type Result } from '../../base/result.ts'
import { parseAddress } from '../../core/access/address.ts'
import { type Failure, invalid } from '../../core/errors.ts'
import type { Tx, ViewerTraces } from '../../store/store.ts'
import { type AccessContext, type Actor, audit } from '../context.ts'

/** A viewer, by one of the two things that Sluice stores of viewers. */
export type ForgottenViewer = { readonly address: string } | { readonly trackingId: string }

interface Forgotten {
  readonly found: ViewerTraces
  /** What is left: sessions that are still open. */
  readonly left: ViewerTraces
}

const BATCH = 500
/** Far more rows than a viewer has. */
const BATCHES_MAX = 200_000

/**
 * Deletes or makes anonymous what is stored of a viewer, in transactions of a few hundred rows. The audit log gets the
 * numbers, but not the address. Sessions that are still open stay: they write until they end.
 */
export async function forgetViewer(
  ctx: AccessContext,
  actor: Actor,
  viewer: ForgottenViewer,
  isCheck: boolean,
): Promise<Result<Forgotten, Failure>> {
  const read = keyOf(viewer)
  if (!read.ok) return read
  const { by, value } = read.value
  const { accountId } = actor
  const count = () => ctx.store.read.viewerTraces.count(accountId, by, value)
  const found = await count()
  if (isCheck) return ok({ found, left: found })
  const of = { accountId, by, value }
  await repeat(ctx, (tx) => tx.viewerTraces.forgetSessions(of, BATCH))
  if (by === 'trackingId') await repeat(ctx, (tx) => tx.viewerTraces.forgetUsage(accountId, value, BATCH))
  else await forgetAddress(ctx, accountId, value)
  await ctx.store.transaction((tx) =>
    audit(tx, actor, ctx.clock.now(), { action: 'viewer.forget', subject: by, after: found }),
  )
  return ok({ found, left: await count() })
}

async function forgetAddress(ctx: AccessContext, accountId: string, value: string): Promise<void> {
  await repeat(ctx, (tx) => tx.viewerTraces.forgetAccessLog(accountId, value, BATCH))
  await repeat(ctx, async (tx) => {
    const atMs = ctx.clock.now()
    const tokens = await tx.viewerTraces.forgetBindings(accountId, value, BATCH)
    for (const id of tokens) await tx.changes.append({ kind: 'token', accountId, id, atMs })
    return tokens.length
  })
}

async function repeat(ctx: AccessContext, work: (tx: Tx) => Promise<number>): Promise<void> {
  for (let batch = 0; batch < BATCHES_MAX; batch++) if ((await ctx.store.transaction(work)) === 0) return
}

function keyOf(viewer: ForgottenViewer): Result<{ by: 'address' | 'trackingId'; value: string }, Failure> {
  if ('trackingId' in viewer) {
    const isGiven = viewer.trackingId !== ''
    return isGiven ? ok({ by: 'trackingId', value: viewer.trackingId }) : err(invalid({ trackingId: ['is empty'] }))
  }
  const address = parseAddress(viewer.address)
  if (address === null) return err(invalid({ address: ['is not an IPv4 or IPv6 address'] }))
  return ok({ by: 'address', value: address.text })
}
