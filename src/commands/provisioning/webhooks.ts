import { err } from '../../base/result.ts'
import { difference } from '../../core/provisioning/difference.ts'
import { toWebhookRecord } from '../../core/webhooks/rules.ts'
import { createWebhook, deleteWebhook, openWebhookSecret, updateWebhook } from '../webhooks/webhooks.ts'
import { created, deleted, type ItemProblems, type ProvisionedKind, secretChange, withProblems } from './kind.ts'

/** 32 bytes in base64: 43 characters and one to fill up. */
const SECRET = /^[A-Za-z0-9+/]{43}=$/
const WRONG_SECRET = 'is not the base64 of 32 bytes; make one with: openssl rand -base64 32'

export const provisionedWebhooks: ProvisionedKind = {
  async compare({ ctx, tx, actor }, id, { body, secret }) {
    const stored = await tx.webhooks.lock(actor.accountId, Number(id))
    if (stored === undefined) return null
    const present = openWebhookSecret(ctx, stored)
    const changed = difference(body, toWebhookRecord(stored, present, ctx.clock.now()))
    const isOther = secret !== null && secret !== present
    return isOther ? [...changed, secretChange('secret')] : changed
  },
  async create({ ctx, actor }, { body, secret }) {
    const wrong = secretProblem(secret)
    if (wrong !== null) return err(wrong)
    return created(await createWebhook(ctx, actor, body, secret ?? undefined))
  },
  async update({ ctx, actor }, id, { secret }, changed) {
    const wrong = secretProblem(secret)
    if (wrong !== null) return err(wrong)
    const settings = changed.map(({ setting, to }) =>
      setting === 'secret' ? { refreshSecret: true } : { [setting]: to },
    )
    const body = Object.assign({}, ...settings) as object
    return withProblems(await updateWebhook(ctx, actor, Number(id), body, secret ?? undefined))
  },
  async delete({ ctx, actor }, id) {
    return deleted(await deleteWebhook(ctx, actor, Number(id)))
  },
}

export const secretProblem = (secret: string | null): ItemProblems | null =>
  secret === null || SECRET.test(secret) ? null : [{ path: 'secret', message: WRONG_SECRET }]
