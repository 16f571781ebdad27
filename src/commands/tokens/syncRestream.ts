import type { Failure } from '../../core/errors.ts'
import { ok, type Result } from '../../base/result.ts'
import type { AccessContext, Actor } from '../context.ts'
import { changeToken } from './changeToken.ts'

/** Makes every node look at the targets of a publish token again: it dials those that were refused or have failed. */
export const syncRestream = (ctx: AccessContext, actor: Actor, id: number): Promise<Result<true, Failure>> =>
  changeToken(ctx, actor, { kind: 'publish', id }, () =>
    Promise.resolve(ok({ value: true as const, recorded: { verb: 'sync_restream' } })),
  )
