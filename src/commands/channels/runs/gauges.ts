import type { EnginePace } from '../../../core/channels/runs/load.ts'
import type { Census } from './engineSupervisor.ts'

/** What is to be seen of channels at this node, for metrics. Everything is bounded by what one node can run. */
export interface ChannelGauges {
  readonly census: Census
  /** Of engines that have a process, by id. */
  readonly paces: readonly (readonly [engineId: string, pace: EnginePace])[]
  /** Frames that engines were too slow for, since the server began. */
  readonly droppedFrames: number
  /** Sources that are connected. */
  readonly ingests: number
  /** ffmpeg processes, of channels and of everything else. */
  readonly ffmpeg: { readonly running: number; readonly most: number }
  /** Who watches distributions here. */
  readonly viewers: number
}
