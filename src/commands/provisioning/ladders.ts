import { toLadderRecord } from '../../core/channels/ladder.ts'
import { without } from '../../core/provisioning/carried.ts'
import { difference } from '../../core/provisioning/difference.ts'
import { createLadder, deleteLadder, updateLadder } from '../channels/ladders.ts'
import { chosenId, created, deleted, patchOf, type ProvisionedKind, withProblems } from './kind.ts'

export const provisionedLadders: ProvisionedKind = {
  async compare({ tx, actor }, id, { body }) {
    const stored = await tx.abrLadders.lock(actor.accountId, id)
    return stored === undefined ? null : difference(without(body, ['id']), toLadderRecord(stored))
  },
  async create({ ctx, actor }, { body }) {
    const id = chosenId('ab', body['id'])
    if (!id.ok) return id
    const made = await createLadder(ctx, actor, without(body, ['id']), id.value)
    return created(made)
  },
  async update({ ctx, actor }, id, _item, changed) {
    return withProblems(await updateLadder(ctx, actor, id, patchOf(changed)))
  },
  async delete({ ctx, actor }, id) {
    return deleted(await deleteLadder(ctx, actor, id))
  },
}
