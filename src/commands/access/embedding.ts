import type { OriginRule } from '../../core/access/origin.ts'
import type { AccessRequest, RefusalCode } from '../../core/access/types.ts'
import { StoreUnavailable } from '../../store/store.ts'
import type { AccessContext } from '../context.ts'
import { type AccessAttempt, evaluate } from './authorize.ts'

/** Which sites may show a stream inside of their pages: none, any, or those that are in every one of the lists. */
export type Embedding = 'none' | 'any' | readonly (readonly OriginRule[])[]

/** Rules on the viewer's place come after those on origins, and the viewer reads their refusals inside of the frame. */
const ON_THE_VIEWER: readonly RefusalCode[] = ['address_not_allowed', 'country_not_allowed']

/**
 * The sites that the presented token allows, or those of an open stream. The attempt has no origin, so the decision gets
 * to the rule on origins only with a token that is valid for this stream. If it cannot be decided, no site may.
 */
export async function embeddingOf(ctx: AccessContext, attempt: Omit<AccessAttempt, 'origin'>): Promise<Embedding> {
  try {
    const { request, decision } = await evaluate(ctx, { ...attempt, origin: null }, ctx.clock.now())
    if (decision.allowed || ON_THE_VIEWER.includes(decision.code)) return 'any'
    return decision.code === 'origin_not_allowed' ? originsOf(request) : 'none'
  } catch (error) {
    if (error instanceof StoreUnavailable) return 'none'
    throw error
  }
}

function originsOf({ credential }: AccessRequest): Embedding {
  if (credential.kind === 'token') return [credential.token.origins]
  if (credential.kind !== 'selfSigned') return 'none'
  return [credential.token.origins, credential.claims.origins].filter(({ length }) => length > 0)
}
