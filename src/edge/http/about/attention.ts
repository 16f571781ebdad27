import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import { addonProblem } from '../../../base/addon.ts'
import type { DiskSpace } from '../../../base/diskSpace.ts'
import { ok } from '../../../base/result.ts'
import { readAttention } from '../../../commands/attention.ts'
import type { Context } from '../../../commands/context.ts'
import { ATTENTION_KINDS } from '../../../core/attention.ts'
import { CodedSentence } from '../../../core/notices.ts'
import { accountOf } from '../auth.ts'
import { type HttpsOptions, servedFacts } from '../https.ts'
import { document } from '../openapi.ts'
import { sendResult } from '../problem.ts'

export interface AttentionRouteOptions {
  /** Of the recordings. */
  readonly diskSpace: () => Promise<DiskSpace | null>
  readonly https?: HttpsOptions | undefined
}

/** What needs a person. */
export function attentionRoutes(app: FastifyInstance, ctx: Context, { diskSpace, https }: AttentionRouteOptions): void {
  app.get(
    '/api/attention',
    document('server', 'What needs attention: what does not work now, or soon will not', {
      operationId: 'readAttention',
      data: Attention,
    }),
    async (request, reply) => {
      const items = await readAttention(ctx, accountOf(request), {
        recordings: await diskSpace().catch((error: NodeJS.ErrnoException) => ({ problem: error.code ?? 'unknown' })),
        certificate: https ? servedFacts(https) : null,
        addonProblem: addonProblem(),
      })
      return sendResult(reply, ok(items))
    },
  )
}

const Attention = Type.Array(
  Type.Object({
    kind: Type.Enum([...ATTENTION_KINDS]),
    severity: Type.Enum(['error', 'warning'], {
      description: '`error`: something does not work now. `warning`: it soon will not, or not well.',
    }),
    text: Type.String({ description: 'What is wrong, and what to do.' }),
    sentences: Type.Array(CodedSentence, { description: 'The same as data, for pages in other languages.' }),
    subject: Type.Optional(
      Type.Object(
        {
          type: Type.Enum(['webhook', 'publish_token', 'subscribe_token', 'engine', 'stream']),
          id: Type.String({ description: 'The id, or the name of a stream.' }),
        },
        { description: 'Absent: it is about the server.' },
      ),
    ),
    until: Type.Optional(Type.String({ format: 'date-time', description: 'When a pause ends, or a token expires.' })),
  }),
)
