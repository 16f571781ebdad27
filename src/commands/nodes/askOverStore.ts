import { timeOrderedId } from '../../base/ids.ts'
import type { NodeRequest } from '../../store/store.ts'
import type { CommandContext } from '../context.ts'

const LOOK_MS = 200

export interface WaitOptions {
  readonly waitMs: number
  /** Keeps the process of a command alive, which the pauses of `ctx.clock` do not. */
  readonly pause: (ms: number) => Promise<void>
}

/** Leaves a request for a serving node in the store, where that looks once a second. Its answer is JSON; null: none came. */
export async function askOverStore(
  ctx: CommandContext,
  request: Omit<NodeRequest, 'id'>,
  { waitMs, pause }: WaitOptions,
): Promise<string | null> {
  const id = timeOrderedId(ctx.clock.now(), ctx.random)
  await ctx.store.transaction((tx) => tx.reloads.insert({ id, ...request }, ctx.clock.now()))
  const untilMs = ctx.clock.monotonic() + waitMs
  let answer: string | null = null
  while (answer === null && ctx.clock.monotonic() < untilMs) {
    await pause(LOOK_MS)
    answer = await ctx.store.read.reloads.answer(id)
  }
  await ctx.store.transaction((tx) => tx.reloads.delete(id))
  return answer
}
