import { withoutTarget } from '../../../core/channels/schedules/targets.ts'
import type { Scheduler, Tx } from '../../../store/store.ts'
import type { Actor } from '../../context.ts'
import { auditChange } from '../channelCommand.ts'
import { emitSchedulerEvent } from './occurrences.ts'

/**
 * Removes a deleted channel or engine from the schedulers that name it. A scheduler without any target left is
 * terminated. Lock `schedulers` before the channel, in the same order as `runSchedulers`, to avoid deadlocks.
 */
export async function forgetTarget(
  tx: Tx,
  actor: Actor,
  nowMs: number,
  schedulers: readonly Scheduler[],
  gone: { readonly channelId: string; readonly engineId?: string },
): Promise<void> {
  for (const before of schedulers) {
    const channels = withoutTarget(before.channels, gone)
    if (channels.length === before.channels.length && channels.every((one, at) => one === before.channels[at])) continue
    const isThrough = channels.length === 0
    const through = { status: 'terminated', occurrence: null, nextAtMs: null } as const
    const after: Scheduler = { ...before, channels, updatedAtMs: nowMs, ...(isThrough ? through : {}) }
    await tx.schedulers.replace(after)
    const states = { before: { channels: before.channels }, after: { channels } }
    await auditChange(
      tx,
      actor,
      nowMs,
      { type: 'scheduler', id: after.id, name: after.name },
      { verb: 'updated', ...states },
    )
    if (isThrough) await emitSchedulerEvent(tx, after, 'scheduler.terminated', nowMs)
  }
}
