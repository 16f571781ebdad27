import type { ScheduleTarget } from './requests.ts'

/**
 * Removes a channel, or one of its engines, from what a scheduler starts. A channel whose named engines are all
 * removed is removed too.
 */
export function withoutTarget(
  targets: readonly ScheduleTarget[],
  gone: { readonly channelId: string; readonly engineId?: string },
): readonly ScheduleTarget[] {
  const { channelId, engineId } = gone
  if (engineId === undefined) return targets.filter((target) => target.channelId !== channelId)
  return targets.flatMap((target) => {
    if (target.channelId !== channelId || !target.engineIds?.includes(engineId)) return [target]
    const engineIds = target.engineIds.filter((id) => id !== engineId)
    return engineIds.length === 0 ? [] : [{ ...target, engineIds }]
  })
}
