import { err, ok, type Result } from '../../base/result.ts'
import { invalid, notFound, type Failure } from '../../core/errors.ts'
import { exampleEvent, TEST_TYPES } from '../../core/webhooks/examples.ts'
import { readWebhookTest, testTypeOf } from '../../core/webhooks/requests.ts'
import { type Actor, type WebhookContext, audit } from '../context.ts'
import { emitNotification } from './emit.ts'

/** Sends an example of an event to every subscribed webhook of the account, over the same path as a real one. */
export async function testWebhooks(
  ctx: WebhookContext,
  actor: Actor,
  named: string,
  body: unknown,
): Promise<Result<true, Failure>> {
  const type = testTypeOf(named)
  if (type === undefined) return err(noTestType(named))
  const about = readWebhookTest(body)
  if (!about.ok) return err(invalid(about.error))
  const { accountId } = actor
  const nowMs = ctx.clock.now()
  await ctx.store.transaction(async (tx) => {
    await emitNotification(tx, { accountId, atMs: nowMs }, exampleEvent(type, { accountId, nowMs, ...about.value }))
    await audit(tx, actor, nowMs, { action: 'webhook.test', subject: type, after: about.value })
  })
  return ok(true)
}

const noTestType = (type: string): Failure =>
  notFound('webhookType', `No webhook type: ${type.slice(0, 32)}; there are ${TEST_TYPES.join(', ')}`)
