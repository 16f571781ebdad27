import { isoTime } from '../../base/time.ts'
import { timeOrderedId } from '../../base/ids.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { failure, invalid, notFound, type Failure } from '../../core/errors.ts'
import { exampleEvent, TEST_TYPES, type TestType } from '../../core/webhooks/examples.ts'
import { readWebhookTest, testTypeOf, type WebhookTestRequest } from '../../core/webhooks/requests.ts'
import { type Actor, type WebhookContext, audit } from '../context.ts'
import { pauseOf } from '../../core/webhooks/route.ts'
import { type DeliveryEntry, toDeliveryEntry } from './deliveries.ts'
import { emitNotification, eventOf } from './emit.ts'
import { noWebhook } from './webhooks.ts'

/** Sends an example of an event to every subscribed webhook of the account, over the same path as a real one. */
export async function testWebhooks(
  ctx: WebhookContext,
  actor: Actor,
  named: string,
  body: unknown,
): Promise<Result<true, Failure>> {
  const { accountId } = actor
  const nowMs = ctx.clock.now()
  const read = readExample(accountId, nowMs, named, body)
  if (!read.ok) return read
  const { type, about, example } = read.value
  await ctx.store.transaction(async (tx) => {
    await emitNotification(tx, { accountId, atMs: nowMs }, example)
    await audit(tx, actor, nowMs, { action: 'webhook.test', subject: type, after: about })
  })
  return ok(true)
}

/**
 * Sends an example of an event to one webhook, whatever its switches and its filter. Returns the pending entry of its log.
 */
export async function testWebhook(
  ctx: WebhookContext,
  actor: Actor,
  webhookId: number,
  named: string,
  body: unknown,
): Promise<Result<DeliveryEntry, Failure>> {
  const { accountId } = actor
  const nowMs = ctx.clock.now()
  const read = readExample(accountId, nowMs, named, body)
  if (!read.ok) return read
  const { type } = read.value
  const example = eventOf(read.value.example)
  const [id, eventId] = [timeOrderedId(nowMs, ctx.random), timeOrderedId(nowMs, ctx.random)]
  return ctx.store.transaction(async (tx): Promise<Result<DeliveryEntry, Failure>> => {
    const webhook = await tx.webhooks.lock(accountId, webhookId)
    if (!webhook) return err(noWebhook(webhookId))
    const pause = pauseOf(webhook, nowMs)
    if (pause !== null) return err(paused(pause.untilMs))
    const about = { id, eventId, webhookId, accountId, type: example.type, event: example.event, error: null }
    const data = JSON.stringify(example.data)
    const row = { ...about, subject: example.subject, data, createdAtMs: nowMs, state: 'pending' as const }
    await tx.deliveries.insert([row])
    const after = { deliveryId: id, type }
    await audit(tx, actor, nowMs, { action: 'webhook.test_one', subject: String(webhookId), after })
    return ok(toDeliveryEntry({ ...row, ...NOT_STARTED }))
  })
}

interface Example {
  readonly type: TestType
  /** What the caller wants the event to be about. */
  readonly about: WebhookTestRequest
  readonly example: ReturnType<typeof exampleEvent>
}

/** The event of a test: its type from the path, and what it is about from the body. */
function readExample(accountId: string, nowMs: number, named: string, body: unknown): Result<Example, Failure> {
  const type = testTypeOf(named)
  if (type === undefined) return err(noTestType(named))
  const about = readWebhookTest(body)
  if (!about.ok) return err(invalid(about.error))
  return ok({ type, about: about.value, example: exampleEvent(type, { accountId, nowMs, ...about.value }) })
}

const NOT_STARTED = {
  startedAtMs: null,
  endedAtMs: null,
  statusCode: null,
  durationMs: null,
  answer: null,
  redeliveryOf: null,
}

const paused = (untilMs: number): Failure =>
  failure('conflict', `This webhook is paused until ${isoTime(untilMs)}: update it with reEnable first, then test it`)

const noTestType = (type: string): Failure =>
  notFound('webhookType', `No webhook type: ${type.slice(0, 32)}; there are ${TEST_TYPES.join(', ')}`)
