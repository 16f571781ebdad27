import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/** Runs a process for `runMs` of each turn, and continues it for good when its input ends. */
const PROGRAM = `
const [pid, runMs, turnMs] = process.argv.slice(1).map(Number)
const cell = new Int32Array(new SharedArrayBuffer(4))
const pause = (ms) => Atomics.wait(cell, 0, 0, ms)
const signal = (name) => { try { process.kill(pid, name) } catch { process.exit() } }
process.stdin.on('end', () => { signal('SIGCONT'); process.exit() }).resume()
function turn() {
  signal('SIGCONT')
  pause(runMs)
  signal('SIGSTOP')
  pause(turnMs - runMs)
  setImmediate(turn)
}
turn()
`

/**
 * Gives a process a share of the processor, whatever else runs on the machine. A burner on the same core would do the same on
 * a machine that does nothing else.
 */
export class Throttled {
  readonly #child: ChildProcess

  constructor(pid: number, { runMs, turnMs }: { runMs: number; turnMs: number }) {
    const args = ['-e', PROGRAM, '--', pid, runMs, turnMs].map(String)
    this.#child = spawn(process.execPath, args, { stdio: ['pipe', 'ignore', 'inherit'] })
  }

  /** Gives it all of the processor again. */
  async release(): Promise<void> {
    if (this.#child.exitCode !== null) return
    const gone = once(this.#child, 'exit')
    this.#child.stdin?.end()
    await gone
  }
}
