import type { LoadControl, LoadVerdict } from '../../src/core/channels/runs/load.ts'
import type { Rung } from '../../src/core/channels/runs/rungs.ts'
import { EncodingLoad } from '../../src/services/encodingLoad.ts'

/** The load of a machine with room for everything. */
export const freeLoad = (): EncodingLoad =>
  new EncodingLoad({ cores: 64, processors: { idle: null }, stepsDown: () => false })

/** Of an engine that makes the renditions that a test chooses. */
export class ScriptedLoad implements LoadControl {
  rungs: readonly Rung[] = []
  readonly notice = []
  #wanted: readonly Rung[] | null = null

  make(rungs: readonly Rung[]): void {
    this.#wanted = rungs
  }

  /** Its process hangs, once. */
  hangs = false

  look(): LoadVerdict {
    const isHung = this.hangs
    this.hangs = false
    if (isHung) return { log: { level: 'warn', message: 'it hangs' }, restart: false, isHung }
    if (this.#wanted === null) return { log: null, restart: false, isHung }
    this.rungs = this.#wanted
    this.#wanted = null
    return { log: { level: 'info', message: 'other renditions' }, restart: true, isHung }
  }

  copies(): void {}
  begun(): void {}
  counted(): void {}
  over(): void {}
  ended(): void {}
}

const UNCHANGED: LoadVerdict = { log: null, restart: false, isHung: false }

/** The control of a machine that is never too slow, however slow that of the test is. It finds a process that hangs. */
export const neverSlow = (control: LoadControl): LoadControl => ({
  get rungs() {
    return control.rungs
  },
  notice: [],
  copies: (allowed) => control.copies(allowed),
  begun: () => control.begun(),
  counted: (index, framesPerSecond) => control.counted(index, framesPerSecond),
  look(sample) {
    const verdict = control.look(sample)
    return verdict.isHung ? verdict : UNCHANGED
  },
  over: () => control.over(),
  ended: () => control.ended(),
})
