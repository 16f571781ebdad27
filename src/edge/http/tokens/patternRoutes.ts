import type { FastifyInstance } from 'fastify'
import { testPattern } from '../../../commands/tokens/testPattern.ts'
import type { Context } from '../../../commands/context.ts'
import { TestedPattern, TestPattern } from '../../../core/tokens/patternTest.ts'
import { accountOf } from '../auth.ts'
import { document } from '../openapi.ts'
import { sendResult } from '../problem.ts'

/** Tries patterns before they are in a token. Browsers have other regular expressions than RE2. */
export function patternRoutes(app: FastifyInstance, ctx: Context): void {
  app.post(
    '/api/patterns/test',
    document('publish tokens', 'Is this pattern RE2, and which stream names does it match?', {
      operationId: 'testPattern',
      body: TestPattern,
      data: TestedPattern,
    }),
    async (request, reply) => sendResult(reply, await testPattern(ctx, accountOf(request), request.body)),
  )
}
