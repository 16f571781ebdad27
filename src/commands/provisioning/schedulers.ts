import { err, ok } from '../../base/result.ts'
import { validPlan } from '../../core/channels/schedules/requests.ts'
import { without } from '../../core/provisioning/carried.ts'
import { difference } from '../../core/provisioning/difference.ts'
import { createScheduler, deleteScheduler, schedulerRecord, updateScheduler } from '../channels/schedules/schedulers.ts'
import { channelProblems, chosenId, isGone, patchOf, type ProvisionedKind } from './kind.ts'

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
    return made.ok ? ok(made.value.id) : err(channelProblems(made.error))
  },
  async update({ ctx, actor }, id, _item, changed) {
    const done = await updateScheduler(ctx, actor, id, patchOf(changed))
    return done.ok ? done : err(channelProblems(done.error))
  },
  async delete({ ctx, actor }, id) {
    const done = await deleteScheduler(ctx, actor, id)
    return done.ok || isGone(done.error) ? ok(true) : err(channelProblems(done.error))
  },
}
