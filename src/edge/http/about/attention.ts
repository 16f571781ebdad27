import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import { ok } from '../../../base/result.ts'
import { type DiskSpace, readAttention } from '../../../commands/attention.ts'
import type { Context } from '../../../commands/context.ts'
import { ATTENTION_KINDS } from '../../../core/attention.ts'
import { accountOf } from '../auth.ts'
import { document } from '../openapi.ts'
import { sendResult } from '../problem.ts'

/** What needs a person. */
export function attentionRoutes(
  app: FastifyInstance,
  ctx: Context,
  recordingsDisk: () => Promise<DiskSpace | null>,
): void {
  app.get(
    '/api/attention',
    document('server', 'What needs attention: what does not work now, or soon will not', {
      operationId: 'readAttention',
      data: Attention,
    }),
    async (request, reply) => {
      const items = await readAttention(ctx, accountOf(request), await recordingsDisk())
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
    text: Type.String({ description: 'One sentence, and what to do.' }),
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
