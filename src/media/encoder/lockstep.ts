import { isGap } from '../../core/hls/cutter.ts'
import type { Frame } from '../frame.ts'

/** What lies between a group of pictures and the one before. `back`: the source has set its clock back. */
export type Break = 'none' | 'gap' | 'back'

export interface LockstepParts {
  /** A group of pictures follows, in all rungs. */
  readonly begin: (before: Break) => void
  readonly pass: (rung: number, frame: Frame) => void
}

/** Keyframes of the same picture: a rung with a frame rate of its own has it a frame earlier or later. */
const SAME_US = 500_000
/** The same with a leader: its frames and those of the others have equal times, but for rounding. */
const FOLLOWED_US = 10_000
/** Far more groups than wait. */
const LEADER_KEYS = 600
/** The most frames of a rung that wait for the others: ten seconds at 60 a second. */
const WAITING_MAX = 600
/** No group of pictures is longer, seconds. */
const GOP_SECONDS = 2

/** The frames of one rung. */
interface RungQueue {
  /** Groups of pictures that wait, the oldest first. */
  readonly groups: Frame[][]
  waiting: number
  /** The latest group was passed, so its further frames pass at once. */
  passes: boolean
  latestUs: number | null
  stepUs: number
  /** The worst break within the latest group. */
  broken: Break
}

/**
 * Passes a group of pictures only when all rungs have begun it, so that all renditions have the same segments. A group that
 * one rung lacks is left out of all: the encoder died in between, or one rung repeats pictures where another has a gap.
 */
export class Lockstep {
  readonly #parts: LockstepParts
  readonly #queues: readonly RungQueue[]
  /** The rung whose keyframes the others follow; null: all have the same. */
  readonly #leader: number | null
  /** Presentation times of the leader's latest keyframes. */
  readonly #leaderKeysUs: number[] = []
  readonly #sameUs: number
  #isOpen = false

  /** @param leader a rung whose frames come before those of the others, which have its keyframes at exactly its times */
  constructor(rungs: number, parts: LockstepParts, leader: number | null = null) {
    this.#parts = parts
    this.#leader = leader
    this.#sameUs = leader === null ? SAME_US : FOLLOWED_US
    this.#queues = Array.from({ length: rungs }, () => ({
      groups: [],
      waiting: 0,
      passes: false,
      latestUs: null,
      stepUs: 0,
      broken: 'none',
    }))
  }

  /** Nothing passes before this. */
  open(): void {
    this.#isOpen = true
    this.#match()
  }

  frame(rung: number, frame: Frame): void {
    const queue = this.#queues[rung]
    if (queue === undefined) return
    const begins = frame.key && this.#beginsGroup(rung, frame)
    if (!begins && queue.groups.length === 0) {
      if (queue.passes) this.#pass(rung, queue, frame)
      return
    }
    if (begins) queue.groups.push([frame])
    else queue.groups.at(-1)?.push(frame)
    queue.waiting += 1
    if (queue.waiting > WAITING_MAX) leaveOut(queue)
    if (begins) this.#match()
  }

  /** An encoder may see a keyframe where the leader has none, such as one of an open group. */
  #beginsGroup(rung: number, { timeUs }: Frame): boolean {
    if (this.#leader === null) return true
    if (rung !== this.#leader) return this.#leaderKeysUs.some((keyUs) => Math.abs(keyUs - timeUs) <= this.#sameUs)
    this.#leaderKeysUs.push(timeUs)
    if (this.#leaderKeysUs.length > LEADER_KEYS) this.#leaderKeysUs.shift()
    return true
  }

  #match(): void {
    while (this.#isOpen && this.#queues.every(({ groups }) => groups.length > 0)) {
      const starts = this.#queues.map(startOf)
      const latest = Math.max(...starts)
      const lacking = this.#queues.filter((_, at) => (starts[at] ?? 0) < latest - this.#sameUs)
      if (lacking.length > 0) lacking.forEach(leaveOut)
      else this.#passGroup()
    }
  }

  #passGroup(): void {
    const before = breakBefore(this.#queues)
    for (const queue of this.#queues) queue.latestUs = decodeStartOf(queue)
    this.#parts.begin(before)
    for (const [at, queue] of this.#queues.entries()) {
      const frames = takeGroup(queue)
      queue.passes = queue.groups.length === 0
      for (const frame of frames) this.#pass(at, queue, frame)
    }
  }

  #pass(at: number, queue: RungQueue, frame: Frame): void {
    queue.broken = worse(queue.broken, breakAt(queue, frame.decodeTimeUs))
    const stepUs = frame.decodeTimeUs - (queue.latestUs ?? frame.decodeTimeUs)
    if (stepUs !== 0) queue.stepUs = stepUs
    queue.latestUs = frame.decodeTimeUs
    this.#parts.pass(at, frame)
  }
}

/** By presentation times: with B-frames in one rung, the decode times of one picture differ. */
const startOf = ({ groups }: RungQueue): number => groups[0]?.[0]?.timeUs ?? 0
const decodeStartOf = ({ groups }: RungQueue): number => groups[0]?.[0]?.decodeTimeUs ?? 0

function takeGroup(queue: RungQueue): Frame[] {
  const frames = queue.groups.shift() ?? []
  queue.waiting -= frames.length
  return frames
}

function leaveOut(queue: RungQueue): void {
  takeGroup(queue)
  queue.passes = false
}

/** Also a rung that repeats pictures, and so has no gap, goes on after a discontinuity. */
function breakBefore(queues: readonly RungQueue[]): Break {
  let found: Break = 'none'
  for (const queue of queues) {
    found = worse(found, worse(queue.broken, breakAt(queue, decodeStartOf(queue))))
    queue.broken = 'none'
  }
  return found
}

function breakAt({ latestUs, stepUs }: RungQueue, nextUs: number): Break {
  const seconds = (nextUs - (latestUs ?? nextUs)) / 1_000_000
  if (!isGap(seconds, stepUs / 1_000_000, GOP_SECONDS)) return 'none'
  return seconds < 0 ? 'back' : 'gap'
}

const worse = (a: Break, b: Break): Break => (a === 'back' || b === 'none' ? a : b)
