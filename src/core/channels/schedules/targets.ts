import type { ScheduleTarget } from './requests.ts'

/** Whether both lists start the same engines of the same channels, in the same order. */
export const startSame = (a: readonly ScheduleTarget[], b: readonly ScheduleTarget[]): boolean =>
  textOf(a) === textOf(b)

const textOf = (targets: readonly ScheduleTarget[]): string =>
  JSON.stringify(targets.map(({ channelId, engineIds = null }) => [channelId, engineIds]))

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
