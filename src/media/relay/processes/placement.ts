import type { PartInRoom } from '../../engine.ts'

/** A process whose thread is busy for this share of the time takes no viewers of a room that can have another process. */
const MARK = 0.6
/** How many reports in a row have to be over the mark. There is one each `BEAT_MS`. */
const MARKED_REPORTS = 3
/** The mark of a process that has reported nothing yet: viewers of 2.5 Mbit/s who fill a third of a core. */
const UNREPORTED_VIEWERS = 300

/** A media process as placement sees it. */
interface ProcessState {
  readonly index: number
  sessions: number
  viewers: number
  /** Share of the last second in which its thread had work; null: nothing is reported yet. */
  load: number | null
  /** Reports in a row over the mark. */
  marked: number
}

export interface PlacementOptions {
  readonly processes: number
  readonly maxProcessesARoom: number
  readonly maxViewers?: number | undefined
}

/** The sessions of a room by process, its home first. */
type Room = Map<number, number>

/**
 * Says which media process a session goes to. The first process of a room is its home: its sources go there, and its viewers
 * up to the mark of the process. Then viewers fill one more process at a time, the least loaded first. When a home has lost all
 * of its sessions of a room, the next process of the room is the home.
 *
 * It has no clock and no effects: the same joins, ends and reports give the same processes.
 */
export class Placement {
  readonly #processes: readonly ProcessState[]
  readonly #maxProcessesARoom: number
  readonly #rooms = new Map<string, Room>()

  readonly #maxViewers: number

  /**
   * `maxProcessesARoom`: how many processes may serve one room. `maxViewers`: a process with as many takes no viewers of a room
   * that can have another one, and with 0 a home takes none, the others one each; absent: their load alone says so.
   */
  constructor({ processes, maxProcessesARoom, maxViewers = Number.POSITIVE_INFINITY }: PlacementOptions) {
    this.#maxViewers = maxViewers
    this.#processes = Array.from({ length: processes }, (_, index) => ({
      index,
      sessions: 0,
      viewers: 0,
      load: null,
      marked: 0,
    }))
    this.#maxProcessesARoom = maxProcessesARoom
  }

  /** The index of the process for a session that joins now. It is counted there from `enter` on. */
  processFor(room: string, part: PartInRoom): number {
    const members = this.membersOf(room)
    const [home] = members
    if (home === undefined) return fewestSessions(this.#processes).index
    if (part === 'source' || this.#maxProcessesARoom === 1) return home
    return this.#forViewer(members.flatMap((index) => this.#processes[index] ?? [])) ?? home
  }

  /** Whether a process has sessions of this room. */
  hasRoom(room: string, index: number): boolean {
    return this.#rooms.get(room)?.has(index) ?? false
  }

  /** The processes that have sessions of this room, its home first. */
  membersOf(room: string): number[] {
    return [...(this.#rooms.get(room)?.keys() ?? [])]
  }

  /** The process where the sources of this room are; undefined: it has no sessions. */
  homeOf(room: string): number | undefined {
    return this.membersOf(room)[0]
  }

  /** The first process of the room with room for a viewer, else one more, else the least loaded of the room. */
  #forViewer(members: readonly ProcessState[]): number | undefined {
    const [home] = members
    const isFull = (process: ProcessState): boolean =>
      isMarked(process) || process.viewers >= Math.max(this.#maxViewers, process === home ? 0 : 1)
    const open = members.find((process) => !isFull(process))
    if (open !== undefined) return open.index
    const others = this.#processes.filter((process) => !members.includes(process) && !isFull(process))
    const takers = members.length < this.#maxProcessesARoom && others.length > 0 ? others : members
    return leastLoaded(this.#maxViewers === 0 ? takers.filter((process) => process !== home) : takers)?.index
  }

  /** A session joins a room at a process. */
  enter(room: string, index: number, part: PartInRoom): void {
    const members = this.#rooms.get(room) ?? new Map<number, number>()
    this.#rooms.set(room, members.set(index, (members.get(index) ?? 0) + 1))
    this.#count(index, part, 1)
  }

  /** A session that entered has ended. */
  leave(room: string, index: number, part: PartInRoom): void {
    const members = this.#rooms.get(room)
    const left = (members?.get(index) ?? 1) - 1
    if (left > 0) members?.set(index, left)
    else members?.delete(index)
    if (members?.size === 0) this.#rooms.delete(room)
    this.#count(index, part, -1)
  }

  #count(index: number, part: PartInRoom, by: 1 | -1): void {
    const process = this.#processes[index]
    if (process === undefined) throw new Error(`there is no process ${index}`)
    process.sessions += by
    if (part === 'viewer') process.viewers += by
  }

  /** The viewers of a process. */
  viewersOf(index: number): number {
    return this.#processes[index]?.viewers ?? 0
  }

  /** A process reports the share of the last second in which its thread had work. */
  report(index: number, load: number): void {
    const process = this.#processes[index]
    if (process === undefined) return
    process.load = load
    process.marked = load >= MARK ? process.marked + 1 : 0
  }

  /** A process has ended: the one that replaces it has reported nothing yet. */
  forget(index: number): void {
    const process = this.#processes[index]
    if (process === undefined) return
    process.load = null
    process.marked = 0
  }
}

function isMarked({ load, marked, viewers }: ProcessState): boolean {
  return load === null ? viewers >= UNREPORTED_VIEWERS : marked >= MARKED_REPORTS
}

function fewestSessions([first, ...others]: readonly ProcessState[]): ProcessState {
  if (first === undefined) throw new Error('an engine has one process at least')
  return others.reduce((least, process) => (process.sessions < least.sessions ? process : least), first)
}

/** A process without a report counts as idle; of two that are equal, the one with fewer sessions. */
function leastLoaded(processes: readonly ProcessState[]): ProcessState | undefined {
  return processes.toSorted((a, b) => (a.load ?? 0) - (b.load ?? 0) || a.sessions - b.sessions)[0]
}
