import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Result } from '../../../base/result.ts'
import { noWebhook } from '../../../commands/webhooks/webhooks.ts'
import type { Failure } from '../../../core/errors.ts'
import { withPathId } from '../pathId.ts'

export type ByWebhookId = { Params: { webhookId: string } }

/** Answers with what `command` gives for the webhook id in the path. */
export const withWebhookId = <T>(
  { params }: FastifyRequest<ByWebhookId>,
  reply: FastifyReply,
  command: (id: number) => Promise<Result<T, Failure>>,
): Promise<FastifyReply> => withPathId(reply, params.webhookId, noWebhook, command)
