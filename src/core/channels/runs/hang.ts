import type { PaceSample } from './pace.ts'

/** `stands`: it does nothing, which says nothing of its pace. `hangs`: for so long that it will do nothing any more. */
export type Motion = 'moves' | 'stands' | 'hangs'

/** A process that has made something gets through its loop many times in this. */
const HANG_MS = 3000
/** Until then it loads its code, perhaps from a slow disk. */
const FIRST_HANG_MS = 10_000

/**
 * Tells a process that hangs from one that is too slow: media goes in, nothing comes out, and it uses no processor although it
 * would get one. On a machine that gives it none for seconds it is slow. Without processor times none is found. Pure, as `PaceWatch`.
 */
export class HangWatch {
  /** Since when it stands: the sample at that time. */
  #since: PaceSample | null = null
  /** Of that time, what media came in: a source may send a frame every few seconds. Milliseconds. */
  #fedMs = 0
  #latest: PaceSample | null = null

  look(sample: PaceSample): Motion {
    const latest = this.#latest ?? sample
    this.#latest = sample
    if (this.#since === null || moves(this.#since, sample)) {
      this.#since = sample
      this.#fedMs = 0
      return 'moves'
    }
    if (!isFed(latest, sample)) return 'moves'
    this.#fedMs += sample.atMs - latest.atMs
    return this.#fedMs >= limitOf(sample) ? 'hangs' : 'stands'
  }
}

function moves(since: PaceSample, { cpuMs, outMs, isReadyToRun }: PaceSample): boolean {
  return cpuMs === null || since.cpuMs === null || cpuMs > since.cpuMs || outMs > since.outMs || isReadyToRun
}

/** A source that sends nothing leaves nothing to do. */
const isFed = (before: PaceSample, { leadMs }: PaceSample): boolean => leadMs > before.leadMs

const limitOf = ({ outMs }: PaceSample): number => (outMs === 0 ? FIRST_HANG_MS : HANG_MS)

/** For the person who operates the engine. */
export const HANG_TEXT = 'ffmpeg hung: it made nothing and used no processor. It is replaced'
