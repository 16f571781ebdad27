import { timeOrderedId } from '../../base/ids.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { invalid, type Failure } from '../../core/errors.ts'
import { readRedeliverMany, REDELIVERIES_MAX, type RedeliverRequest } from '../../core/webhooks/deliveryQuery.ts'
import { audit, type Actor, type CommandContext } from '../context.ts'
import { idBound } from './deliveries.ts'
import { noWebhook } from './webhooks.ts'

/** Deliveries in one transaction, so that it locks the webhook only for a moment. */
const BATCH = 100

export interface RedeliverManyAnswer {
  /** How many are sent again. */
  readonly redelivered: number
  /** There are more: repeat the request. */
  readonly hasMore: boolean
}

interface Batch {
  readonly webhookId: number
  readonly request: RedeliverRequest
  /** Strictly newer than this one. */
  readonly after: string
  /** Strictly older than this one: what the request itself adds is not sent again. */
  readonly before: string
}

/**
 * Sends what did not arrive again, oldest first, at most a thousand at a time. Each batch is one transaction that locks the
 * webhook, so that two requests at once never send one delivery twice.
 */
export async function redeliverMany(
  ctx: CommandContext,
  actor: Actor,
  webhookId: number,
  body: unknown,
): Promise<Result<RedeliverManyAnswer, Failure>> {
  const read = readRedeliverMany(body)
  if (!read.ok) return err(invalid(read.error))
  const before = timeOrderedId(ctx.clock.now(), ctx.random)
  let [after, redelivered] = ['', 0]
  while (redelivered < REDELIVERIES_MAX) {
    const sent = await redeliverBatch(ctx, actor, { webhookId, request: read.value, after, before })
    if (!sent.ok) return sent
    redelivered += sent.value.length
    after = sent.value.at(-1) ?? after
    if (sent.value.length < BATCH) return ok({ redelivered, hasMore: false })
  }
  return ok({ redelivered, hasMore: true })
}

/** The ids of the deliveries that are sent again. */
function redeliverBatch(ctx: CommandContext, actor: Actor, batch: Batch): Promise<Result<string[], Failure>> {
  const { webhookId, request, after, before } = batch
  const nowMs = ctx.clock.now()
  return ctx.store.transaction(async (tx): Promise<Result<string[], Failure>> => {
    if (!(await tx.webhooks.lock(actor.accountId, webhookId))) return err(noWebhook(webhookId))
    const filter = { ...request, ...idBound(request.fromMs) }
    const ids = await tx.deliveries.undelivered({ webhookId, ...filter, after, before, limit: BATCH })
    if (ids.length === 0) return ok(ids)
    for (const of of ids) await tx.deliveries.redeliver({ of, id: timeOrderedId(nowMs, ctx.random), atMs: nowMs })
    const recorded = { states: request.states, deliveries: ids.length, first: ids[0], last: ids.at(-1) }
    await audit(tx, actor, nowMs, { action: 'webhook.redeliver_many', subject: String(webhookId), after: recorded })
    return ok(ids)
  })
}
