import type { Fields } from '../base/log.ts'
import type { StartedDelivery } from './begin.ts'
import type { Ended } from './record.ts'

/**
 * One attempt as the log shows it; `docs/reference/logs.md` lists the fields. Of the URL only the host, and neither what was
 * sent nor what was answered: each may hold a secret of the receiver.
 */
export function deliveryLine(
  node: string,
  { facts, request, attempt }: StartedDelivery,
  { webhookId, end }: Ended,
): Fields {
  return {
    node,
    accountId: facts.accountId,
    webhookId,
    deliveryId: end.id,
    eventId: facts.eventId,
    type: facts.type,
    event: facts.event,
    subject: facts.subject,
    attempt,
    isRedelivery: facts.redeliveryOf !== null,
    outcome: end.state,
    status: end.statusCode,
    waitedMs: facts.waitedMs,
    durationMs: end.durationMs,
    bytes: request.body.byteLength,
    host: URL.parse(request.url)?.host ?? null,
    problem: end.error && end.error.message,
  }
}
