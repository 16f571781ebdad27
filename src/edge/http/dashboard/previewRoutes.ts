import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import { ok } from '../../../base/result.ts'
import { makePreviewPass } from '../../../commands/access/previewPass.ts'
import { invalid } from '../../../core/errors.ts'
import { parseBody } from '../../../core/validation/parseBody.ts'
import { checkStreamName } from '../../../core/access/streamName.ts'
import { sendFailure, sendResult } from '../problem.ts'
import { userOf } from './auth.ts'
import { sessionValue } from './cookie.ts'
import { operation } from './openapi.ts'
import type { DashboardApi } from './parts.ts'

const PreviewBody = Type.Object(
  { streamName: Type.String({ minLength: 1, maxLength: 128, examples: ['show'] }) },
  { additionalProperties: false },
)

const PreviewPass = Type.Object({
  pass: Type.String({
    description: 'In place of a token, over WHEP and HLS, for this stream, while your session is open.',
  }),
})

/** How the dashboard shows a stream to its users: without a token, and counted for no customer. */
export function previewRoutes(app: FastifyInstance, { ctx }: DashboardApi): void {
  app.post(
    '/preview',
    operation('previewStream', 'overview', 'Get a pass to see a stream of the account in the dashboard', {
      body: PreviewBody,
      data: PreviewPass,
    }),
    async (request, reply) => {
      const read = parseBody(PreviewBody, request.body)
      if (!read.ok) return sendFailure(reply, invalid(read.error))
      const { streamName } = read.value
      const problem = checkStreamName(streamName)
      if (problem !== null) return sendFailure(reply, invalid({ streamName: [problem] }))
      const { accountId } = userOf(request)
      const value = sessionValue(request) ?? ''
      return sendResult(reply, ok({ pass: makePreviewPass(ctx, { value, accountId, streamName }) }))
    },
  )
}
