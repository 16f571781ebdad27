import { readdir, readFile } from 'node:fs/promises'
import { availableParallelism, cpus } from 'node:os'

/** How many media processes a server has. @param configured `webrtc.processes`; 0: one for each processor but one */
export const mediaProcessCount = (configured: number): number =>
  configured > 0 ? configured : Math.max(1, availableParallelism() - 1)

/** Accumulated times of all processors since the machine started, milliseconds. */
interface Times {
  readonly idleMs: number
  readonly allMs: number
}

/** The number of samples over which the load is averaged. */
const LOOKS = 10

/** Measures how busy the processors of this machine are. Call `look` at equal distances, once a second for example. */
export class ProcessorLoad {
  readonly #read: () => { readonly processors: number } & Times
  #looks: Times[] = []
  readonly #most: number
  #idle: number | null = null
  #processors = 0

  /** @param most how many looks back the load is averaged */
  constructor(read = readProcessors, most = LOOKS) {
    this.#read = read
    this.#most = most
  }

  look(): void {
    const { processors, ...now } = this.#read()
    this.#looks = [...this.#looks, now].slice(-this.#most - 1)
    this.#processors = processors
    const [first = now] = this.#looks
    const allMs = now.allMs - first.allMs
    this.#idle = allMs > 0 ? (processors * (now.idleMs - first.idleMs)) / allMs : null
  }

  /**
   * Idle processors, averaged over the last seconds; null before the second sample and where the system does not
   * report it.
   */
  get idle(): number | null {
    return this.#idle
  }

  /** Percent of all processors that are busy; null as `idle`. */
  get busyPercent(): number | null {
    if (this.#idle === null) return null
    return Math.min(100, Math.max(0, Math.round(100 * (1 - this.#idle / this.#processors))))
  }

  get processors(): number {
    return this.#processors
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

/**
 * Unit of `/proc`: on Linux it is hundredths of a second, whatever the kernel's own tick is (proc(5),
 * `sysconf(_SC_CLK_TCK)`).
 */
const TICK_MS = 10

/** Processor time that a process and its children have used, milliseconds; null where the system does not report it. */
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
  const fields = await statOf(`/proc/${pid}`)
  const ticks = Number(fields[11]) + Number(fields[12])
  return Number.isFinite(ticks) ? ticks * TICK_MS : null
}

/** Runnable, with a processor or without, and waiting for a disk (proc(5)). */
const READY_STATES = ['R', 'D']

/**
 * Whether a thread of a process would go on if the machine let it: it waits for a processor, or for a disk. All threads of one that
 * hangs sleep. The delay that `schedstat` reports would not tell, because it does not grow before the wait is over. False where the
 * system does not report it.
 */
export async function isReadyToRun(pid: number): Promise<boolean> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => [])
  const states = await Promise.all(threads.map(async (thread) => (await statOf(`/proc/${pid}/task/${thread}`))[0]))
  return states.some((state) => READY_STATES.includes(state ?? ''))
}

/** What `Starvation` asks the system. */
export interface ProcessLooks {
  readonly cpuMsOf: typeof processorTimeOf
  readonly isReady: typeof isReadyToRun
}

/**
 * Tells a silent process that gets no processor from one that hangs, which is not ready to run, and from one that runs in circles,
 * which uses the processor without ever saying something.
 */
export class Starvation {
  readonly #mostCpuMs: number
  readonly #looks: ProcessLooks
  /** The silence that is looked at, and the processor time that the process had used at the first look. */
  #silence: { readonly sinceMs: number; readonly cpuMs: number | null; countsSinceMs: number } | null = null

  /** @param mostCpuMs a process that is all right uses less processor time before it says something, milliseconds */
  constructor(mostCpuMs: number, looks: ProcessLooks = { cpuMsOf: processorTimeOf, isReady: isReadyToRun }) {
    this.#mostCpuMs = mostCpuMs
    this.#looks = looks
  }

  /**
   * Since when the silence of a process counts: since it began, or since the process last waited for nothing but a processor. Call it
   * about once a second while it is silent. Where the system does not say, since it began.
   */
  async countsSince(pid: number, silentSinceMs: number, nowMs: number): Promise<number> {
    const [cpuMs, isReady] = await Promise.all([this.#looks.cpuMsOf(pid), this.#looks.isReady(pid)])
    if (this.#silence?.sinceMs !== silentSinceMs)
      this.#silence = { sinceMs: silentSinceMs, cpuMs, countsSinceMs: silentSinceMs }
    const silence = this.#silence
    if (cpuMs === null || silence.cpuMs === null || cpuMs - silence.cpuMs >= this.#mostCpuMs)
      silence.countsSinceMs = silentSinceMs
    else if (isReady) silence.countsSinceMs = nowMs
    return silence.countsSinceMs
  }
}

/** State, ppid … utime, stime of a process or a thread; empty if it is gone. */
async function statOf(folder: string): Promise<string[]> {
  const stat = await readFile(`${folder}/stat`, 'utf8').catch(() => '')
  // Before them is the program name in parentheses, which may hold any character.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}
