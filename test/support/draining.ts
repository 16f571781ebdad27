import type { Drain } from '../../src/core/nodes/drain.ts'

/** The drain of a node, of which nothing has to move. */
export const draining = (over: Partial<Drain> = {}): Drain => ({
  beganAtMs: 0,
  drainMs: 1,
  plan: { hlsUntilMs: 0, publishersAtMs: new Map() },
  nodes: [],
  isEnding: false,
  ...over,
})
