import type { Clock } from '../base/clock.ts'
import { Tally } from '../base/tally.ts'
import type { MediaProcessEnd } from '../core/nodes/load.ts'

/** What became of the media processes of this node since it started. */
export class MediaProcesses {
  readonly #clock: Clock
  readonly ends = new Tally()
  #latest: MediaProcessEnd | null = null
  /** By process: the longest wait of a datagram in the last second, milliseconds. */
  readonly waits = new Map<number, number>()
  /** By process: the share of the last second in which its thread had work. */
  readonly loads = new Map<number, number>()
  /** Media packets that viewers did not get, because they waited too long before they were read. */
  latePackets = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  waited({ process, mostMs, late, load }: { process: number; mostMs: number; late: number; load: number }): void {
    this.waits.set(process, mostMs)
    this.loads.set(process, load)
    this.latePackets += late
  }

  ended({ isHung, sessions }: Omit<MediaProcessEnd, 'atMs'>): void {
    this.ends.add(isHung ? 'hung' : 'died')
    this.#latest = { atMs: this.#clock.now(), isHung, sessions }
  }

  /** The latest one that ended; null: none did. */
  get latestEnd(): MediaProcessEnd | null {
    return this.#latest
  }
}
