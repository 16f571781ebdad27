import type { FastifyReply, FastifyRequest } from 'fastify'
import { refuseShared } from '../../../commands/accounts/operator.ts'
import type { Context } from '../../../commands/context.ts'
import { failure } from '../../../core/errors.ts'
import { seesSecrets } from '../auth.ts'
import { sendFailure } from '../problem.ts'

/**
 * Admits to what concerns the whole server: its admins, and holders of an API secret where there is one account.
 * @param instead the command for those who operate the machine
 */
export const operatorsOnly =
  (ctx: Context, instead: string) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> => {
    if (!seesSecrets(request)) return sendFailure(reply, failure('forbidden', 'Forbidden: only admins see this'))
    const shared = await refuseShared(ctx, instead)
    return shared === null ? undefined : sendFailure(reply, shared)
  }
