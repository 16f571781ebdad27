import { err, ok } from '../../base/result.ts'
import { difference } from '../../core/provisioning/difference.ts'
import { toWebhookRecord } from '../../core/webhooks/rules.ts'
import { createWebhook, deleteWebhook, openWebhookSecret, updateWebhook } from '../webhooks/webhooks.ts'
import { isGone, type ItemProblems, problemsOf, type ProvisionedKind } from './kind.ts'

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
    return isOther ? [...changed, { setting: 'secret', from: '(hidden)', to: '(hidden)' }] : changed
  },
  async create({ ctx, actor }, { body, secret }) {
    const wrong = secretProblem(secret)
    if (wrong !== null) return err(wrong)
    const made = await createWebhook(ctx, actor, body, secret ?? undefined)
    return made.ok ? ok(String(made.value.id)) : err(problemsOf(made.error))
  },
  async update({ ctx, actor }, id, { secret }, changed) {
    const wrong = secretProblem(secret)
    if (wrong !== null) return err(wrong)
    const settings = changed.map(({ setting, to }) =>
      setting === 'secret' ? { refreshSecret: true } : { [setting]: to },
    )
    const body = Object.assign({}, ...settings) as object
    const done = await updateWebhook(ctx, actor, Number(id), body, secret ?? undefined)
    return done.ok ? done : err(problemsOf(done.error))
  },
  async delete({ ctx, actor }, id) {
    const done = await deleteWebhook(ctx, actor, Number(id))
    return done.ok || isGone(done.error) ? ok(true) : err(problemsOf(done.error))
  },
}

export const secretProblem = (secret: string | null): ItemProblems | null =>
  secret === null || SECRET.test(secret) ? null : [{ path: 'secret', message: WRONG_SECRET }]
