import { err, ok } from '../../base/result.ts'
import { toChannelWebhookRecord } from '../../core/channels/webhooks/rules.ts'
import { without } from '../../core/provisioning/carried.ts'
import { difference } from '../../core/provisioning/difference.ts'
import {
  createChannelWebhook,
  deleteChannelWebhook,
  rotateChannelWebhookSecret,
  updateChannelWebhook,
} from '../channels/webhooks/webhooks.ts'
import { openWebhookSecret } from '../webhooks/webhooks.ts'
import { chosenId, created, deleted, patchOf, type ProvisionedKind, secretChange, withProblems } from './kind.ts'
import { secretProblem } from './webhooks.ts'

export const provisionedChannelWebhooks: ProvisionedKind = {
  async compare({ ctx, tx, actor }, id, { body, secret }) {
    const stored = await tx.channelWebhooks.lock(actor.accountId, id)
    if (stored === undefined) return null
    const changed = difference(without(body, ['id']), toChannelWebhookRecord(stored, ctx.clock.now()))
    const isOther = secret !== null && secret !== openWebhookSecret(ctx, stored)
    return isOther ? [...changed, secretChange('secret')] : changed
  },
  async create({ ctx, actor }, { body, secret }) {
    const wrong = secretProblem(secret)
    if (wrong !== null) return err(wrong)
    const id = chosenId('wh', body['id'])
    if (!id.ok) return id
    const chosen = { id: id.value, secret: secret ?? undefined }
    const made = await createChannelWebhook(ctx, actor, without(body, ['id']), chosen)
    return created(made)
  },
  async update({ ctx, actor }, id, { secret }, changed) {
    const wrong = secretProblem(secret)
    if (wrong !== null) return err(wrong)
    const own = changed.filter(({ setting }) => setting !== 'secret')
    const done = own.length === 0 ? ok(true) : await updateChannelWebhook(ctx, actor, id, patchOf(own))
    if (!done.ok) return withProblems(done)
    if (own.length === changed.length || secret === null) return done
    const rotated = await rotateChannelWebhookSecret(ctx, actor, id, secret)
    return withProblems(rotated)
  },
  /** An active one cannot be deleted. */
  async delete({ ctx, actor }, id) {
    const off = await updateChannelWebhook(ctx, actor, id, { active: false })
    const done = off.ok ? await deleteChannelWebhook(ctx, actor, id) : off
    return deleted(done)
  },
}
