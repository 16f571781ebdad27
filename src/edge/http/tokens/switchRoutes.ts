import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import { type Switch, switchTokens } from '../../../commands/tokens/switchTokens.ts'
import type { Context } from '../../../commands/context.ts'
import { DisableTokens } from '../../../core/tokens/requestSchema.ts'
import { actorOf } from '../auth.ts'
import { document } from '../openapi.ts'
import type { PeerOf } from '../peer.ts'
import { sendResult } from '../problem.ts'

const Switched = Type.Object({
  successfulTokens: Type.Array(Type.Integer()),
  failedTokens: Type.Array(Type.Object({ tokenId: Type.Integer(), errorMessage: Type.String() })),
})

/** Switches many tokens off or on at once. */
export function switchRoutes(app: FastifyInstance, ctx: Context, peerOf: PeerOf): void {
  const route = (word: string, operationId: string, summary: string, to: Switch): void => {
    app.patch(
      `/api/${to.kind}_token/${word}`,
      document(`${to.kind} tokens`, summary, { operationId, body: DisableTokens, data: Switched }),
      async (request, reply) => sendResult(reply, await switchTokens(ctx, actorOf(request, peerOf), to, request.body)),
    )
  }
  const off = 'Switch tokens off; live sessions go on'
  const on = 'Switch tokens on; an expired token stays expired'
  route('disable', 'disablePublishTokens', off, { kind: 'publish', isActive: false })
  route('enable', 'enablePublishTokens', on, { kind: 'publish', isActive: true })
  route('disable', 'disableSubscribeTokens', off, { kind: 'subscribe', isActive: false })
  route('enable', 'enableSubscribeTokens', on, { kind: 'subscribe', isActive: true })
}
