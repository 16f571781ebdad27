import type { Pace, PaceSample } from './pace.ts'
import type { Rung } from './rungs.ts'
import type { TranscodeJob, TranscodeLog } from './transcoder.ts'

/** What has come of a look at the process of an engine. */
export interface LoadVerdict {
  /** To be told; null: nothing has changed. */
  readonly log: Omit<TranscodeLog, 'kind'> | null
  /** The process has to be started again, because `rungs` are others now. */
  readonly restart: boolean
}

/** Decides what the processes of one engine make, from its start to its end. */
export interface LoadControl {
  /** What the next process is to make. */
  readonly rungs: readonly Rung[]
  /** What is to be said of the engine as long as it is so; null: nothing. */
  readonly notice: string | null
  /** A process begins. */
  begun(): void
  /** Frames a second in the latest segment of a rung. */
  counted(index: number, framesPerSecond: number): void
  /** To be called once a second while there is a process. */
  look(sample: Omit<PaceSample, 'idleCores'>): LoadVerdict
  /** The process is gone. */
  over(): void
  /** The engine is stopped. */
  ended(): void
}

/** The load that the engines of a node are. */
export interface EngineLoad {
  control(job: Pick<TranscodeJob, 'engineId' | 'ladder'>): LoadControl
}

/** How the process of an engine is, for those who watch over it. */
export interface EnginePace extends Pace {
  /** Labels of what is not made so that the rest keeps up. */
  readonly leftOut: readonly string[]
}
