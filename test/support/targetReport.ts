import { offTarget, type TargetStatus } from '../../src/core/restream/state.ts'
import type { TargetReport } from '../../src/services/restreams.ts'

/** A target that has used nothing. */
export const targetReport = (index: number, status: TargetStatus, sinceMs: number): TargetReport => ({
  index,
  url: `rtmp://target${index}.example.com/app`,
  label: '',
  bytesIn: 0,
  bytesOut: 0,
  liveMs: 0,
  state: { ...offTarget(sinceMs), status },
  bitrateOut: null,
  lastProblem: null,
})
