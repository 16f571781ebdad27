import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import { revokeSelfSigned } from '../../../commands/tokens/revokeSelfSigned.ts'
import { signToken } from '../../../commands/tokens/signToken.ts'
import type { Context } from '../../../commands/context.ts'
import { RevokeSelfSigned } from '../../../core/tokens/requestSchema.ts'
import { SignedToken, SignToken } from '../../../core/tokens/signSchema.ts'
import { actorOf } from '../auth.ts'
import { document } from '../openapi.ts'
import type { PeerOf } from '../peer.ts'
import { type ByTokenId, withTokenId } from './tokenId.ts'

/** Self-signed children of subscribe tokens: make one here, revoke those that were made anywhere. */
export function selfSignedRoutes(app: FastifyInstance, ctx: Context, peerOf: PeerOf): void {
  const path = '/api/subscribe_token/:tokenId'
  app.post<ByTokenId>(
    `${path}/sign`,
    document('subscribe tokens', 'Sign a token that narrows this one: one stream, for a short time', {
      operationId: 'signSubscribeToken',
      body: SignToken,
      data: SignedToken,
    }),
    (request, reply) =>
      withTokenId('subscribe', request, reply, (id) => signToken(ctx, actorOf(request, peerOf), id, request.body)),
  )
  app.post<ByTokenId>(
    `${path}/revoke`,
    document('subscribe tokens', 'Revoke self-signed children: one by jti, or all issued before a time', {
      operationId: 'revokeSelfSignedTokens',
      body: RevokeSelfSigned,
      data: Type.Boolean(),
    }),
    (request, reply) =>
      withTokenId('subscribe', request, reply, (id) =>
        revokeSelfSigned(ctx, actorOf(request, peerOf), id, request.body),
      ),
  )
}
