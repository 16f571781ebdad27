import { validPlan } from '../../core/channels/schedules/requests.ts'
import { without } from '../../core/provisioning/carried.ts'
import { difference } from '../../core/provisioning/difference.ts'
import { createScheduler, deleteScheduler, schedulerRecord, updateScheduler } from '../channels/schedules/schedulers.ts'
import { chosenId, created, deleted, patchOf, type ProvisionedKind, withProblems } from './kind.ts'

export const provisionedSchedulers: ProvisionedKind = {
  async compare({ tx, actor }, id, { body }) {
    const stored = await tx.schedulers.lock(actor.accountId, id)
    return stored === undefined ? null : difference(without(body, ['id']), schedulerRecord(stored))
  },
  /** Its first day may be over: a file is applied again to an empty store years later. */
  async create({ ctx, actor }, { body }) {
    const id = chosenId('sc', body['id'])
    if (!id.ok) return id
    const chosen = { id: id.value, planFor: validPlan }
    const made = await createScheduler(ctx, actor, without(body, ['id']), chosen)
    return created(made)
  },
  async update({ ctx, actor }, id, _item, changed) {
    return withProblems(await updateScheduler(ctx, actor, id, patchOf(changed)))
  },
  async delete({ ctx, actor }, id) {
    return deleted(await deleteScheduler(ctx, actor, id))
  },
}
