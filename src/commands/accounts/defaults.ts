import { err, ok, type Result } from '../../base/result.ts'
import {
  readClusterChange,
  type ReadDefaults,
  readDistributionChange,
  readExpirationChange,
  readGeoCascadeChange,
  readLogAdmissionsChange,
  readSecurityChange,
  readSettingsChange,
} from '../../core/accounts/requests.ts'
import { notFound, type Failure } from '../../core/errors.ts'
import type { AccountDefaults } from '../../core/tokens/accountDefaults.ts'
import { type AccessContext, type Actor, audit } from '../context.ts'
import { regionsFor } from '../regions/regions.ts'

const READERS = {
  /** Country rules of tokens without any. */
  security: readSecurityChange,
  distribution: readDistributionChange,
  /** The older form of `distribution`. */
  geoCascade: readGeoCascadeChange,
  /** Where publishers go whose tokens do not say it. */
  cluster: readClusterChange,
  /** How long recordings are kept. */
  expiration: readExpirationChange,
  logAdmissions: readLogAdmissionsChange,
  /** All of it. */
  settings: readSettingsChange,
} as const satisfies Record<string, ReadDefaults>

/**
 * Changes what an account says for its tokens, with an audit row. This node forgets it before the caller continues, so that
 * no decision after the answer uses the rules of before. Sessions that they no longer admit end, as after an edit of their token.
 */
export async function changeDefaults(
  ctx: AccessContext,
  actor: Actor,
  what: keyof typeof READERS,
  body: unknown,
): Promise<Result<AccountDefaults, Failure>> {
  const { accountId } = actor
  const regions = await regionsFor(ctx, body)
  const atMs = ctx.clock.now()
  try {
    return await ctx.store.transaction(async (tx): Promise<Result<AccountDefaults, Failure>> => {
      const before = await tx.accounts.lockDefaults(accountId)
      if (!before) return err(notFound('accountId', 'No account with this id'))
      const read = READERS[what](body, before, regions)
      if (!read.ok) return read
      const after = { ...before, ...read.value, version: before.version + 1 }
      await tx.accounts.setDefaults(accountId, after)
      await tx.changes.append({ kind: 'account', accountId, id: 0, atMs })
      const states = { before: shown(before), after: shown(after) }
      await audit(tx, actor, atMs, { action: 'account.update', subject: accountId, ...states })
      return ok(after)
    })
  } finally {
    // Also after a failure: if the answer to a commit was lost, the change may be on record.
    ctx.cache.forgetAccount(accountId)
  }
}

const shown = ({ version: _version, ...defaults }: AccountDefaults): object => defaults
