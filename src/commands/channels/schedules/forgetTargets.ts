import { withoutTarget } from '../../../core/channels/schedules/targets.ts'
import type { Tx } from '../../../store/store.ts'
import type { ResourceChange } from '../channelCommand.ts'

/**
 * Removes a deleted channel or engine from the schedulers that name it, and returns their changes. A scheduler without any
 * target left is terminated. Lock the schedulers before the channel, in the same order as `runSchedulers`, to avoid
 * deadlocks. They are read again here: one that another transaction wrote before the channel was locked names it too.
 */
export async function forgetTarget(
  tx: Tx,
  nowMs: number,
  accountId: string,
  gone: { readonly channelId: string; readonly engineId?: string },
): Promise<ResourceChange[]> {
  const changes: ResourceChange[] = []
  for (const before of await tx.schedulers.lockNaming(accountId, gone.channelId)) {
    const channels = withoutTarget(before.channels, gone)
    if (channels.length === before.channels.length && channels.every((one, at) => one === before.channels[at])) continue
    const isThrough = channels.length === 0
    const through = { status: 'terminated', occurrence: null, nextAtMs: null } as const
    await tx.schedulers.replace({ ...before, channels, updatedAtMs: nowMs, ...(isThrough ? through : {}) })
    const object = { type: 'scheduler', id: before.id, name: before.name } as const
    changes.push({ object, verb: 'updated', before: { channels: before.channels }, after: { channels } })
    if (isThrough) changes.push({ object, verb: 'terminated', isEventOnly: true })
  }
  return changes
}
