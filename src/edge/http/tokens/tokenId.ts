import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Result } from '../../../base/result.ts'
import { noToken } from '../../../commands/tokens/readTokens.ts'
import type { Failure } from '../../../core/errors.ts'
import type { TokenKind } from '../../../core/tokens/types.ts'
import { withPathId } from '../pathId.ts'

export type ByTokenId = { Params: { tokenId: string } }

/** Answers with what `command` gives for the token id in the path. */
export const withTokenId = <T>(
  kind: TokenKind,
  { params }: FastifyRequest<ByTokenId>,
  reply: FastifyReply,
  command: (id: number) => Promise<Result<T, Failure>>,
): Promise<FastifyReply> => withPathId(reply, params.tokenId, (word) => noToken(kind, word), command)
