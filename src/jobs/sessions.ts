import type { Context } from '../commands/context.ts'
import type { ServingNode } from '../commands/nodes/servingNode.ts'
import { emitIdleStreams } from '../commands/sessions/viewing.ts'
import type { PeriodicJob } from './timers.ts'

const SWEEP_MS = 5_000

export interface SessionJobOptions {
  flushMs: number
  noViewersMs: number
}

/** The timers of a process that holds sessions. */
export const sessionJobs = (
  ctx: Context,
  node: ServingNode,
  { flushMs, noViewersMs }: SessionJobOptions,
): PeriodicJob[] => [
  { name: 'write bytes', everyMs: flushMs, run: () => node.count() },
  { name: 'look at what other nodes did', everyMs: flushMs, run: () => node.reconcile() },
  { name: 'sweep up after dead processes', everyMs: SWEEP_MS, run: () => node.sweep() },
  {
    name: 'notice streams without viewers',
    everyMs: Math.min(noViewersMs, SWEEP_MS),
    run: () => emitIdleStreams(ctx, noViewersMs),
  },
]
