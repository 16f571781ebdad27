import type { ScheduleTarget } from './requests.ts'

/** What a scheduler starts, without a channel, or without one of its engines: a channel with none of those named is no target. */
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
