import { ok, type Result } from '../../base/result.ts'
import { toAccountSettings } from '../../core/accounts/requests.ts'
import { difference } from '../../core/provisioning/difference.ts'
import { NO_DEFAULTS } from '../../core/tokens/accountDefaults.ts'
import { changeDefaults } from '../accounts/defaults.ts'
import { type ItemProblems, patchOf, type ProvisionedKind, type Provisioning, withProblems } from './kind.ts'

/** What the account says for its tokens and recordings. It is always there: to make or delete it is to change it. */
export const provisionedDefaults: ProvisionedKind = {
  async compare({ tx, actor }, _id, { body }) {
    const defaults = await tx.accounts.defaults(actor.accountId)
    return defaults ? difference(body, toAccountSettings(defaults)) : null
  },
  async create(within, { body }) {
    const done = await change(within, body)
    return done.ok ? ok(within.actor.accountId) : done
  },
  update: (within, _id, _item, changed) => change(within, patchOf(changed)),
  delete: (within) => change(within, toAccountSettings(NO_DEFAULTS)),
}

async function change({ ctx, actor, touched }: Provisioning, body: object): Promise<Result<unknown, ItemProblems>> {
  touched.accounts.add(actor.accountId)
  return withProblems(await changeDefaults(ctx, actor, 'settings', body))
}
