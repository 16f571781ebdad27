import type { EnginePace } from '../core/channels/runs/load.ts'
import type { Census } from './engineSupervisor.ts'

/** State of the channels at this node, for metrics. The limits on what one node can run bound all of it. */
export interface ChannelGauges {
  readonly census: Census
  /** Paces of engines with a process, by id. */
  readonly paces: readonly (readonly [engineId: string, pace: EnginePace])[]
  /** Frames that engines dropped since the server started, because they were too slow. */
  readonly droppedFrames: number
  /** Connected sources. */
  readonly ingests: number
  /** ffmpeg processes, of channels and of everything else. */
  readonly ffmpeg: { readonly running: number; readonly most: number }
  /** Viewers of distributions at this node. */
  readonly viewers: number
}
