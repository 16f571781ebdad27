import { readFile } from 'node:fs/promises'
import { cpus } from 'node:os'

/** What all processors of a machine have done since it started, milliseconds. */
interface Times {
  readonly idleMs: number
  readonly allMs: number
}

/** Over so many looks the load is averaged. */
const LOOKS = 10

/** How busy the processors of this machine are. Call `look` once a second. */
export class ProcessorLoad {
  readonly #read: () => { readonly processors: number } & Times
  #looks: Times[] = []
  #idle: number | null = null

  constructor(read = readProcessors) {
    this.#read = read
  }

  look(): void {
    const { processors, ...now } = this.#read()
    this.#looks = [...this.#looks, now].slice(-LOOKS - 1)
    const [first = now] = this.#looks
    const allMs = now.allMs - first.allMs
    this.#idle = allMs > 0 ? (processors * (now.idleMs - first.idleMs)) / allMs : null
  }

  /** How many processors were idle in the last seconds; null before the second look, and where the system does not say. */
  get idle(): number | null {
    return this.#idle
  }
}

function readProcessors(): { processors: number } & Times {
  const all = cpus()
  const sum = (times: readonly number[]): number => times.reduce((total, one) => total + one, 0)
  return {
    processors: all.length,
    idleMs: sum(all.map(({ times }) => times.idle)),
    allMs: sum(all.map(({ times }) => sum(Object.values(times)))),
  }
}

/** Of `/proc`: Linux counts in hundredths of a second there, whatever its own tick is (proc(5), `sysconf(_SC_CLK_TCK)`). */
const TICK_MS = 10

/** Processor time that a process and its children have used, milliseconds; null where the system does not say. */
export async function processorTimeOf(pid: number): Promise<number | null> {
  const own = await timeIn(pid)
  if (own === null) return null
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  const theirs = await Promise.all(
    children
      .trim()
      .split(' ')
      .filter(Boolean)
      .map((child) => timeIn(Number(child))),
  )
  return theirs.reduce<number>((sum, ms) => sum + (ms ?? 0), own)
}

async function timeIn(pid: number): Promise<number | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The name of the program is in parentheses, and may hold anything. Behind it come state, ppid … utime, stime.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = Number(fields[11]) + Number(fields[12])
  return Number.isFinite(ticks) ? ticks * TICK_MS : null
}
