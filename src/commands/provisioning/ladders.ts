import { err, ok } from '../../base/result.ts'
import { toLadderRecord } from '../../core/channels/ladder.ts'
import { without } from '../../core/provisioning/carried.ts'
import { difference } from '../../core/provisioning/difference.ts'
import { createLadder, deleteLadder, updateLadder } from '../channels/ladders.ts'
import { channelProblems, chosenId, isGone, patchOf, type ProvisionedKind } from './kind.ts'

export const provisionedLadders: ProvisionedKind = {
  async compare({ tx, actor }, id, { body }) {
    const stored = await tx.abrLadders.lock(actor.accountId, id)
    return stored === undefined ? null : difference(without(body, ['id']), toLadderRecord(stored))
  },
  async create({ ctx, actor }, { body }) {
    const id = chosenId('ab', body['id'])
    if (!id.ok) return id
    const made = await createLadder(ctx, actor, without(body, ['id']), id.value)
    return made.ok ? ok(made.value.id) : err(channelProblems(made.error))
  },
  async update({ ctx, actor }, id, _item, changed) {
    const done = await updateLadder(ctx, actor, id, patchOf(changed))
    return done.ok ? done : err(channelProblems(done.error))
  },
  async delete({ ctx, actor }, id) {
    const done = await deleteLadder(ctx, actor, id)
    return done.ok || isGone(done.error) ? ok(true) : err(channelProblems(done.error))
  },
}
