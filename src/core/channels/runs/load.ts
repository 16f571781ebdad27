import type { CodedSentence } from '../../notices.ts'
import type { Pace, PaceSample } from './pace.ts'
import type { Rung } from './rungs.ts'
import type { TranscodeJob, TranscodeLog } from './transcoder.ts'

/** The result of one sample of an engine's process. */
export interface LoadVerdict {
  /** An entry for the log; null: nothing has changed. */
  readonly log: Omit<TranscodeLog, 'kind'> | null
  /** Restart the process, because `rungs` have changed. */
  readonly restart: boolean
  /** The process hangs: kill it at once. The rungs stay. */
  readonly isHung: boolean
}

/** Decides which rungs the processes of one engine encode, from its start to its end. */
export interface LoadControl {
  /** The rungs of the next process. */
  readonly rungs: readonly Rung[]
  /** A notice to show as long as it applies; empty: none. */
  readonly notice: readonly CodedSentence[]
  /** Whether the next processes copy what the ladder says. A change begins with the whole ladder again. */
  copies(allowed: boolean): void
  /** A process has started. */
  begun(): void
  /** Frames per second in the latest segment of a rung. */
  counted(index: number, framesPerSecond: number): void
  /** Call once a second while the process runs. */
  look(sample: PaceSample): LoadVerdict
  /** The process has ended. */
  over(): void
  /** The engine is stopped. */
  ended(): void
}

/** The load of the engines of a node. */
export interface EngineLoad {
  control(job: Pick<TranscodeJob, 'engineId' | 'ladder'>): LoadControl
}

/** The pace of an engine's process, for monitoring. */
export interface EnginePace extends Pace {
  /** Labels of the rungs that are left out so that the others keep up. */
  readonly leftOut: readonly string[]
}
