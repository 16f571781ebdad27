import { countOf, ofType, PlayoutReader, type Report } from './playout.ts'
import { type Counted, NOTHING_COUNTED } from './quality.ts'

/** Without a new picture for this time it stands still, also if the browser says so only when it moves again. */
const STILL_MS = 1000

/** Pictures, and stalls between them, of one connection. */
export class Freezes {
  readonly #playout = new PlayoutReader()
  #frames = 0
  #movedAtMs: number | null = null
  #ownStalls = 0
  #ownMs = 0

  /** Whether media has come: video, or audio where there is no video. */
  get hasMoved(): boolean {
    return this.#movedAtMs !== null
  }

  /** Reads the statistics of a connection. Call it at least once a second. */
  read(all: readonly Report[], nowMs: number): Counted {
    const inbound = ofType(all, 'inbound-rtp')
    const video = inbound.find(({ kind }) => kind === 'video')
    const frames = video ? countOf(video['framesDecoded']) : countOf(inbound[0]?.['packetsReceived'])
    const stillMs = this.#movedAtMs === null ? 0 : nowMs - this.#movedAtMs
    const isStill = stillMs >= STILL_MS
    if (frames > this.#frames) {
      if (isStill) this.#ownStalls += 1
      if (isStill) this.#ownMs += stillMs
      this.#movedAtMs = nowMs
    }
    const isStillNow = isStill && frames <= this.#frames
    this.#frames = frames
    const { behindSeconds } = this.#playout.read(all)
    const behindMs = behindSeconds === null ? null : 1000 * behindSeconds
    if (video === undefined) return { ...NOTHING_COUNTED, behindMs }
    const counts = typeof video['freezeCount'] === 'number'
    return {
      frames,
      dropped: countOf(video['framesDropped']),
      height: countOf(video['frameHeight']),
      behindMs,
      stalls: (counts ? countOf(video['freezeCount']) : this.#ownStalls) + (isStillNow ? 1 : 0),
      stalledMs: (counts ? 1000 * countOf(video['totalFreezesDuration']) : this.#ownMs) + (isStillNow ? stillMs : 0),
    }
  }
}
