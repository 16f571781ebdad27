import type { PaceSample } from './pace.ts'

/** `stands`: it does nothing, which says nothing of its pace. `hangs`: for so long that it will do nothing any more. */
export type Motion = 'moves' | 'stands' | 'hangs'

/** A process that has made something gets through its loop many times in this. */
const HANG_MS = 3000
/** Until then it loads its code, perhaps from a slow disk. */
const FIRST_HANG_MS = 10_000
/** A process that reads its source itself gives up a silent one after ten seconds. */
const PULL_HANG_MS = 15_000

/**
 * Tells a process that hangs from one that is too slow: media goes in, nothing comes out, and it uses no processor. Without
 * processor times none is found. Pure, as `PaceWatch`.
 */
export class HangWatch {
  /** Since when it stands: the sample at that time. */
  #since: PaceSample | null = null
  #latest: PaceSample | null = null

  look(sample: PaceSample): Motion {
    const latest = this.#latest ?? sample
    this.#latest = sample
    if (this.#since === null || moves(this.#since, sample) || !isFed(latest, sample)) {
      this.#since = sample
      return 'moves'
    }
    return sample.atMs - this.#since.atMs >= limitOf(sample) ? 'hangs' : 'stands'
  }
}

function moves(since: PaceSample, { cpuMs, outMs }: PaceSample): boolean {
  return cpuMs === null || since.cpuMs === null || cpuMs > since.cpuMs || outMs > since.outMs
}

/** A source that sends nothing leaves nothing to do. */
function isFed(before: PaceSample, { leadMs }: PaceSample): boolean {
  return leadMs === null || before.leadMs === null || leadMs > before.leadMs
}

const limitOf = ({ leadMs, outMs }: PaceSample): number =>
  leadMs === null ? PULL_HANG_MS : outMs === 0 ? FIRST_HANG_MS : HANG_MS

/** For the person who operates the engine. */
export const HANG_TEXT = 'ffmpeg hung: it made nothing and used no processor. It is replaced'
